#include "aggregator/store/sample_reader.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "aggregator/store/batch_reader.h"
#include "aggregator/store/recent/recent_batches.h"
#include "aggregator/store/tables/keys.h"
#include "aggregator/store/tables/rocksdb_conversions.h"
#include "base/status_macros.h"

namespace fleetperf::aggregator {

absl::Status SampleReader::Read(
    const ReadableStore::ReadRequest& request,
    absl::FunctionRef<absl::Status(const Frame&)> on_frame,
    absl::FunctionRef<void(const Loss&)> on_loss) {
  BatchReader batches(sources_.log, &request, on_frame, on_loss);
  RecentBatches::Found recent = sources_.recent->FindIfComplete(
      request.machine, request.from, request.to);
  if (recent.complete_after < request.from) return batches.ReadRecent(recent);
  if (recent.complete_after == absl::InfiniteFuture() &&
      !recent.epochs.empty()) {
    RETURN_IF_ERROR(FindElsewhere(sources_, request.machine));
  }
  std::unique_ptr<const Snapshot> snapshot;
  std::vector<LogSegment> segments;
  std::optional<uint32_t> machine;
  std::optional<uint64_t> version;
  {
    absl::ReaderMutexLock lock(sources_.layout);
    machine = sources_.numbers->FindMachine(request.machine);
    if (machine.has_value()) {
      version = sources_.database->versions().Of(*machine);
    }
    segments =
        sources_.log->index().Find(request.machine, request.from, request.to);
    snapshot = sources_.database->TakeSnapshot();
    if (!segments.empty()) {
      recent = sources_.recent->Find(request.machine, request.from, request.to);
    }
  }
  ChunkReader::Chunks chunks;
  if (machine.has_value()) {
    ASSIGN_OR_RETURN(
        chunks, chunks_.Find(*machine, version, request, *snapshot, on_loss));
  }
  if (request.on_epoch) {
    RETURN_IF_ERROR(ReportEpochs(request, segments, chunks, *snapshot));
  }
  // The chunks of an epoch precede its batches in the log.
  auto segment = segments.begin();
  const auto read_segments_before = [&](uint32_t epoch_number) -> absl::Status {
    for (; segment != segments.end() && segment->epoch_number < epoch_number;
         ++segment) {
      RETURN_IF_ERROR(batches.ReadSegment(*segment, *snapshot, recent));
    }
    return absl::OkStatus();
  };
  ChunkReader::Queries queries;
  for (auto& chunk : chunks) {
    RETURN_IF_ERROR(read_segments_before(chunk->stored().key.epoch_number));
    if (request.on_chunk) RETURN_IF_ERROR(request.on_chunk());
    RETURN_IF_ERROR(
        chunks_.Read(*chunk, request, *snapshot, &queries, on_frame, on_loss));
    chunk.reset();  // with its parts in memory, unless cached
  }
  return read_segments_before(UINT32_MAX);
}

absl::Status SampleReader::ReportEpochs(
    const ReadableStore::ReadRequest& request,
    const std::vector<LogSegment>& segments, const ChunkReader::Chunks& chunks,
    const Snapshot& snapshot) const {
  std::map<uint32_t, uint64_t> last;  // sequence by epoch
  for (const LogSegment& segment : segments) {
    uint64_t& sequence = last[segment.epoch_number];
    sequence = std::max(sequence, segment.last_sequence);
  }
  for (const auto& chunk : chunks) {
    const uint32_t epoch_number = chunk->stored().key.epoch_number;
    if (last.contains(epoch_number)) continue;
    ASSIGN_OR_RETURN(last[epoch_number], LastInChunks(epoch_number, snapshot));
  }
  for (const auto& [epoch_number, sequence] : last) {
    request.on_epoch(epoch_number, sequence);
  }
  return absl::OkStatus();
}

// The log may have batches outside of the segments found in its index: their
// samples are outside of the range, or they were just committed.
absl::StatusOr<uint64_t> SampleReader::LastInChunks(
    uint32_t epoch_number, const Snapshot& snapshot) const {
  const std::string end = EndOfPrefix(LogKey(epoch_number, kMaxSequence));
  const rocksdb::Slice end_slice = end;
  const auto logged =
      sources_.database->Iterate(Family::kTimes, &snapshot, &end_slice);
  logged->Seek(LogKey(epoch_number, 0));
  RETURN_IF_ERROR(FromRocksDb(logged->status(), "read its log"));
  uint32_t epoch_of_first = 0;
  uint64_t first = 0;
  if (logged->Valid() &&
      ParseLogKey(ToView(logged->key()), &epoch_of_first, &first) &&
      epoch_of_first == epoch_number) {
    return first - 1;
  }
  const auto durable = sources_.database->Get(
      Family::kDefault, DurableKey(epoch_number), &snapshot);
  if (absl::IsNotFound(durable.status())) return 0;
  RETURN_IF_ERROR(durable.status());
  absl::string_view record = *durable;
  uint64_t sequence = 0;
  return GetBigEndian(&record, &sequence) ? sequence : 0;
}

}  // namespace fleetperf::aggregator
