#include "driver/perf_event/sampler.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace fleetperf::perf_event {
namespace {

using Clock = std::chrono::steady_clock;

// For poll(2): rounded up, so that a wait does not end early.
int ToMilliseconds(absl::Duration timeout) {
  const absl::Duration rounded = absl::Ceil(timeout, absl::Milliseconds(1));
  const int64_t milliseconds = absl::ToInt64Milliseconds(rounded);
  return static_cast<int>(
      std::clamp<int64_t>(milliseconds, 0, std::numeric_limits<int>::max()));
}

bool CanShare(const RecordLayout& a, const RecordLayout& b) {
  if (a == b) return true;
  const uint8_t absent = FieldOffsets::kAbsent;
  return a.sample.identifier != absent && b.sample.identifier != absent &&
         (a.trailer.size > 0) == (b.trailer.size > 0);
}

}  // namespace

Sampler::Sampler(Counter counter, MappedRing mapped)
    : mapped_(std::move(mapped)), ring_(mapped_.memory) {
  const RecordLayout layout(counter.attributes());
  members_.push_back({std::move(counter), RecordParser(layout)});
}

absl::StatusOr<Sampler> Sampler::Create(Counter counter, size_t pages) {
  ASSIGN_OR_RETURN(MappedRing mapped, MapRing(counter, pages, true));
  return Sampler(std::move(counter), std::move(mapped));
}

absl::Status Sampler::Add(Counter counter) {
  const RecordLayout layout(counter.attributes());
  if (!CanShare(layout, members_[0].parser.layout())) {
    return absl::FailedPreconditionError(absl::StrCat(
        counter.name(), " and ", members_[0].counter.name(),
        " have different records, which one ring can hold only if both events "
        "have sample::kIdentifier, and both or none SampleIdAll"));
  }
  RETURN_IF_ERROR(counter.SetOutput(&members_[0].counter));
  members_.push_back({std::move(counter), RecordParser(layout)});
  return absl::OkStatus();
}

std::optional<size_t> Sampler::FindMember(const RawRecord& raw) const {
  const std::optional<uint64_t> id = members_[0].parser.EventId(raw);
  if (!id) return std::nullopt;
  for (size_t i = 0; i < members_.size(); ++i) {
    if (members_[i].counter.id() == *id) return i;
  }
  return std::nullopt;
}

const Counter* Sampler::CounterOf(const RawRecord& raw) const {
  if (members_.size() == 1) return &members_[0].counter;
  const std::optional<size_t> index = FindMember(raw);
  return index ? &members_[*index].counter : nullptr;
}

absl::StatusOr<bool> Sampler::Wait(absl::Duration timeout) {
  Counter& counter = members_[waiting_for_].counter;
  const int milliseconds =
      timeout == absl::InfiniteDuration() ? -1 : ToMilliseconds(timeout);
  short occurred = 0;
  const int ready = counter.system().Poll(counter.descriptor(), POLLIN,
                                          milliseconds, &occurred);
  if (ready == -EINTR) return false;
  if (ready < 0) {
    return absl::ErrnoToStatus(
        -ready, absl::StrCat(counter.name(), ": cannot wait for records"));
  }
  if ((occurred & POLLERR) != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat(counter.name(),
                     ": the pinned event has lost its place on the PMU; "
                     "disable and enable it, or do not pin it"));
  }
  if ((occurred & POLLNVAL) != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat(counter.name(), ": the event's descriptor is closed"));
  }
  // The ring wakes the waiters of all events that write to it, so that one of
  // those that can still write is enough to wait for.
  if ((occurred & POLLHUP) != 0) ++waiting_for_;
  return ready == 0;
}

absl::StatusOr<std::optional<RawRecord>> Sampler::NextBlocking(
    absl::Duration timeout) {
  std::optional<RawRecord> record = Next();
  if (record) return record;
  RETURN_IF_ERROR(ring_.status());
  const Clock::time_point start = Clock::now();
  while (!ended()) {
    const absl::Duration passed = absl::FromChrono(Clock::now() - start);
    ASSIGN_OR_RETURN(const bool is_over,
                     Wait(std::max(timeout - passed, absl::ZeroDuration())));
    record = Next();
    if (record) return record;
    RETURN_IF_ERROR(ring_.status());
    if (is_over || passed > timeout) break;
  }
  return std::nullopt;
}

absl::Status Sampler::MapAux(size_t pages) {
  ASSIGN_OR_RETURN(MappedMemory mapping,
                   perf_event::MapAux(members_[0].counter, mapped_, pages));
  aux_.emplace(mapped_.memory.page,
               absl::Span<const char>(mapping.data(), mapping.size()));
  aux_mapping_.emplace(std::move(mapping));
  return absl::OkStatus();
}

FlightRecorder::FlightRecorder(Counter counter, MappedRing mapped)
    : counter_(std::move(counter)),
      parser_(RecordLayout(counter_.attributes())),
      mapped_(std::move(mapped)),
      ring_(mapped_.memory) {}

absl::StatusOr<FlightRecorder> FlightRecorder::Create(Counter counter,
                                                      size_t pages) {
  if ((counter.attributes().flags & flag::kWriteBackward) == 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        counter.name(), ": a flight recorder needs Builder::WriteBackward"));
  }
  ASSIGN_OR_RETURN(MappedRing mapped, MapRing(counter, pages, false));
  return FlightRecorder(std::move(counter), std::move(mapped));
}

absl::Status FlightRecorder::Snapshot(
    absl::FunctionRef<void(const RawRecord&)> visit) {
  RETURN_IF_ERROR(counter_.PauseOutput(true));
  ring_.Start();
  while (const std::optional<RawRecord> record = ring_.Next()) visit(*record);
  RETURN_IF_ERROR(counter_.PauseOutput(false));
  return ring_.status();
}

}  // namespace fleetperf::perf_event
