#include "aggregator/history/history_store.h"

#include <algorithm>

#include "aggregator/history/engine_reader.h"
#include "aggregator/history/frame_slice.h"
#include "aggregator/store/machine_epochs.h"
#include "base/status_macros.h"
#include "perflib/clocks.h"

namespace fleetperf::aggregator {
namespace {

// The own store thins and removes by the hour, and while a read goes on.
constexpr absl::Duration kMargin = absl::Minutes(15);

// Passes on the ticks of a frame from `begin` on, in units of PerfTime100NSec.
absl::Status PassFrom(int64_t begin, const Frame& frame,
                      absl::FunctionRef<absl::Status(const Frame&)> on_frame) {
  const auto ticks = static_cast<uint32_t>(frame.clocks->size());
  const auto is_before = [&](uint32_t tick) {
    return (*frame.clocks)[tick].perf_time_100nsec < begin;
  };
  for (uint32_t tick = 0; tick < ticks;) {
    const uint32_t first = tick;
    while (tick < ticks && !is_before(tick)) ++tick;
    if (first == 0 && tick == ticks) return on_frame(frame);
    if (tick > first) RETURN_IF_ERROR(on_frame(Slice(frame, first, tick)));
    while (tick < ticks && is_before(tick)) ++tick;
  }
  return absl::OkStatus();
}

}  // namespace

void HistoryStore::SetKept(absl::Duration kept) {
  absl::MutexLock lock(&mutex_);
  kept_ = kept;
}

absl::Time HistoryStore::SeamOf(const std::string& machine) const {
  const absl::Time now = now_of_(machine);
  absl::MutexLock lock(&mutex_);
  return now - kept_ + std::min(kMargin, kept_ / 4);
}

absl::Status HistoryStore::Read(
    const ReadRequest& request,
    absl::FunctionRef<absl::Status(const Frame&)> on_frame,
    absl::FunctionRef<void(const Loss&)> on_loss) {
  const absl::Time seam = SeamOf(request.machine);
  if (request.from >= seam || request.selected == nullptr) {
    return own_.Read(request, on_frame, on_loss);
  }
  EngineReader reader(engine_.get(), &request,
                      EpochsOfMachine(own_, request.machine));
  RETURN_IF_ERROR(reader.Read(
      request.from, std::min(seam, request.to + absl::Nanoseconds(100)),
      on_frame));
  RETURN_IF_ERROR(ReportLosses(request, seam, on_loss));
  if (request.to < seam) return absl::OkStatus();
  ReadRequest later = request;
  later.from = seam;
  later.filter = [&](const CollectedQuery& query) {
    return !query.is_thinned() && (!request.filter || request.filter(query));
  };
  later.may_fold = nullptr;
  const int64_t begin = perflib::PerfTime100NSecFromTime(seam);
  return own_.Read(
      later,
      [&](const Frame& frame) { return PassFrom(begin, frame, on_frame); },
      on_loss);
}

absl::Status HistoryStore::ReportLosses(
    const ReadRequest& request, absl::Time seam,
    absl::FunctionRef<void(const Loss&)> on_loss) {
  return own_.Read(
      {.machine = request.machine,
       .from = request.from,
       .to = std::min(request.to, seam),
       .filter = [](const CollectedQuery&) { return false; },
       .on_chunk = request.on_chunk},
      [](const Frame&) { return absl::OkStatus(); },
      [&](const Loss& loss) {
        // A read from the seam on reports the others.
        if (request.to < seam || loss.end < seam) on_loss(loss);
      });
}

}  // namespace fleetperf::aggregator
