#include "aggregator/store/sample_sources.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "aggregator/samples/frame.h"
#include "aggregator/store/batch_reader.h"
#include "aggregator/store/readable_store.h"
#include "aggregator/store/tables/chunk_table.h"
#include "aggregator/store/tables/keys.h"
#include "aggregator/store/tables/loss_table.h"
#include "base/logging.h"
#include "base/status_macros.h"

namespace fleetperf::aggregator {
namespace {

// The maximum number of log segments searched for a machine's newest sample.
constexpr size_t kMaxSegmentsSearched = 12;

// Raises `newest` to the chunk's newest tick. A damaged chunk has none; any
// other error is returned, because the chunk may be readable later.
absl::Status FindNewest(const Database& database, const Snapshot& snapshot,
                        const StoredChunk& stored, absl::Time* newest) {
  auto chunk = OpenChunk(database, &snapshot, stored);
  auto clocks = chunk.ok() ? chunk->ReadClocks() : chunk.status();
  if (absl::IsDataLoss(clocks.status())) return absl::OkStatus();
  RETURN_IF_ERROR(clocks.status());
  for (const perflib::Clocks& tick : **clocks) {
    *newest = std::max(*newest, TimeOf(tick));
  }
  return absl::OkStatus();
}

}  // namespace

std::optional<absl::Time> NewestLogged(const SampleSources& sources,
                                       const std::string& machine) {
  // Samples are ordered by epoch and sequence, so the newest segment of the
  // newest epoch comes first.
  auto segments = sources.log->index().Find(machine, absl::InfinitePast(),
                                            absl::InfiniteFuture());
  std::reverse(segments.begin(), segments.end());
  if (segments.size() > kMaxSegmentsSearched) {
    segments.resize(kMaxSegmentsSearched);
  }
  const auto snapshot = sources.database->TakeSnapshot();
  for (const LogSegment& segment : segments) {
    // The newest batch usually has the sample, unless it has only losses or
    // samples of other machines.
    for (const absl::Time from : {segment.times.newest, segment.times.oldest}) {
      std::optional<absl::Time> newest;
      const ReadableStore::ReadRequest request = {
          .machine = machine, .from = from, .to = absl::InfiniteFuture()};
      const auto on_frame = [&](const Frame& frame) {
        if (!frame.clocks->empty()) {
          const absl::Time time = TimeOf(frame.clocks->back());
          newest = std::max(newest.value_or(time), time);
        }
        return absl::OkStatus();
      };
      const auto on_loss = [](const Loss&) {};
      const absl::Status status =
          BatchReader(sources.log, &request, on_frame, on_loss)
              .ReadLogged(segment, *snapshot);
      if (!status.ok()) {
        LogWarningOf(machine, absl::StrCat("cannot read the newest samples of ",
                                           machine, ": ", status.message()));
      }
      if (newest.has_value()) return newest;
    }
  }
  return std::nullopt;
}

absl::Status FindElsewhere(const SampleSources& sources,
                           const std::string& machine) {
  RecentBatches::Found recent;
  std::vector<LogSegment> segments;
  std::unique_ptr<const Snapshot> snapshot;
  {
    absl::ReaderMutexLock lock(sources.layout);
    recent = sources.recent->Find(machine, absl::InfiniteFuture(),
                                  absl::InfinitePast());
    segments = sources.log->index().Find(machine, absl::InfinitePast(),
                                         absl::InfiniteFuture());
    snapshot = sources.database->TakeSnapshot();
  }
  if (recent.epochs.empty()) return absl::OkStatus();
  // Earlier hours than that of the oldest sample in memory are not searched.
  const uint32_t first_hour = HourOf(recent.oldest);
  absl::Time newest = StartOfHour(first_hour);
  for (const LogSegment& segment : segments) {
    if (segment.first_sequence < recent.FirstSequence(segment.epoch_number)) {
      newest = std::max(newest, segment.times.newest);
    }
  }
  // Queries that read damage report it.
  const auto ignore = [](const absl::Status&) {};
  const auto number = sources.numbers->FindMachine(machine);
  if (number.has_value()) {
    const auto entry =
        sources.database->Iterate(Family::kChunks, snapshot.get());
    for (const Resolution resolution : kResolutions) {
      RETURN_IF_ERROR(ForEachChunk(
          entry.get(), *number, resolution, first_hour, UINT32_MAX,
          [&](const StoredChunk& stored) {
            return FindNewest(*sources.database, *snapshot, stored, &newest);
          },
          ignore));
    }
    RETURN_IF_ERROR(ForEachLoss(
        entry.get(), *number, newest, absl::InfiniteFuture(),
        [&](const Loss& loss) { newest = std::max(newest, loss.end); },
        ignore));
  }
  sources.recent->SetNewestElsewhere(machine, newest);
  return absl::OkStatus();
}

}  // namespace fleetperf::aggregator
