#include "aggregator/store/sample_reader.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "aggregator/store/tables/keys.h"
#include "aggregator/store/tables/loss_table.h"
#include "aggregator/store/tables/rocksdb_conversions.h"
#include "base/logging.h"
#include "base/status_macros.h"

namespace fleetperf::aggregator {
namespace {

// The maximum number of log segments searched for a machine's newest sample.
constexpr size_t kMaxSegmentsSearched = 12;

// Returns the first to the last tick between `from` and `to`. std::nullopt if
// there is none.
std::optional<Chunk::TickRange> TicksBetween(
    const std::vector<perflib::Clocks>& clocks, absl::Time from,
    absl::Time to) {
  const int64_t first_time = perflib::PerfTime100NSecFromTime(from);
  const int64_t last_time = perflib::PerfTime100NSecFromTime(to);
  const auto is_inside = [&](const perflib::Clocks& tick) {
    return tick.perf_time_100nsec >= first_time &&
           tick.perf_time_100nsec <= last_time;
  };
  const auto first = std::find_if(clocks.begin(), clocks.end(), is_inside);
  if (first == clocks.end()) return std::nullopt;
  const auto last = std::find_if(clocks.rbegin(), clocks.rend(), is_inside);
  return Chunk::TickRange{
      .first = static_cast<uint64_t>(first - clocks.begin()),
      .last = static_cast<uint64_t>(clocks.rend() - last - 1)};
}

// Removes runs outside of the range, as reading chunks does, because instances
// are numbered by those that occur. Returns false if no tick is in the range.
bool RemoveRunsOutside(absl::Time from, absl::Time to, Frame* frame) {
  const auto ticks = TicksBetween(*frame->clocks, from, to);
  if (!ticks.has_value()) return false;
  size_t kept = 0;
  for (size_t i = 0; i < frame->runs.size(); ++i) {
    const Frame::Run& run = frame->runs[i];
    if (run.first_tick > ticks->last ||
        run.first_tick + run.tick_count <= ticks->first) {
      continue;
    }
    for (FrameColumn& column : frame->columns) {
      if (column.constant) column.values[kept] = column.values[i];
    }
    frame->runs[kept++] = run;
  }
  frame->runs.resize(kept);
  for (FrameColumn& column : frame->columns) {
    if (column.constant) column.values.resize(kept);
  }
  return true;
}

// Whether ticks in order, of which these are the ends, may be in the range.
bool IsInRange(const std::vector<perflib::Clocks>& ends,
               const Store::ReadRequest& request) {
  return TimeOf(ends.front()) <= request.to &&
         TimeOf(ends.back()) >= request.from;
}

// Returns std::nullopt if the samples are needed.
absl::StatusOr<std::optional<Frame>> ReadFolded(
    const Store::ReadRequest& request, size_t section,
    const std::shared_ptr<const CollectedQuery>& query,
    const std::vector<bool>& columns,
    const std::function<bool(const Instance&)>& wants, Chunk* chunk) {
  if (!request.may_fold || chunk->ends() == nullptr) {
    return std::optional<Frame>();
  }
  const std::vector<perflib::Clocks>& ends = *chunk->ends();
  if (!request.may_fold(*query, chunk->second_time(),
                        ends.back().perf_time_100nsec)) {
    return std::optional<Frame>();
  }
  const bool includes_all_ticks =
      TimeOf(ends.front()) >= request.from && TimeOf(ends.back()) <= request.to;
  return chunk->ReadFolded(section, query, columns, includes_all_ticks, wants);
}

// The loss that answers have in place of samples that cannot be read.
Loss DamagedBetween(absl::Time start, absl::Time end) {
  return {.start = start, .end = end, .cause = LossCause::kStoreDamaged};
}
Loss DamagedHours(uint32_t first, uint32_t last) {
  return DamagedBetween(StartOfHour(first),
                        StartOfHour(last + 1) - absl::Nanoseconds(100));
}

void LogDamage(const std::string& machine, const absl::Status& status) {
  LogErrorOf(machine, absl::StrCat("skipped samples of ", machine, ": ",
                                   status.message()));
}

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

void SortByOrder(std::vector<std::shared_ptr<const HeldChunk>>* chunks) {
  std::stable_sort(chunks->begin(), chunks->end(),
                   [](const auto& a, const auto& b) {
                     const ChunkKey& one = a->stored().key;
                     const ChunkKey& other = b->stored().key;
                     return std::tie(one.epoch_number, one.order) <
                            std::tie(other.epoch_number, other.order);
                   });
}

// The last hours have no end within the clock's range.
absl::Time EndOfHour(uint32_t hour) {
  const absl::Time end = StartOfHour(hour + 1);
  return HourOf(end) > hour ? end : absl::InfiniteFuture();
}

// Reports the losses that count for the machine.
void ReportLosses(const std::vector<Loss>& losses, const std::string& machine,
                  absl::FunctionRef<void(const Loss&)> on_loss) {
  for (const Loss& loss : losses) {
    if (loss.machine.empty() || loss.machine == machine) on_loss(loss);
  }
}

RecentBatch::Selection SelectionOf(const Store::ReadRequest& request) {
  return {.queries =
              [&request](const CollectedQuery& query) {
                return query.machine == request.machine &&
                       (!request.filter || request.filter(query));
              },
          .columns = request.columns,
          .instances = request.instances};
}

}  // namespace

absl::Status SampleReader::Read(const Store::ReadRequest& request,
                                OnFrame on_frame, OnLoss on_loss) {
  Recent recent{.found = parts_.recent->FindIfComplete(
                    request.machine, request.from, request.to),
                .selector = RecentBatch::Selector(SelectionOf(request))};
  if (recent.found.complete_after < request.from) {
    return ReadRecent(request, &recent, on_frame, on_loss);
  }
  if (recent.found.complete_after == absl::InfiniteFuture() &&
      !recent.found.epochs.empty()) {
    RETURN_IF_ERROR(FindElsewhere(request.machine));
  }
  std::unique_ptr<const Snapshot> snapshot;
  std::vector<LogSegment> segments;
  std::optional<uint32_t> machine;
  std::optional<uint64_t> version;
  {
    absl::ReaderMutexLock lock(parts_.layout);
    machine = parts_.numbers->FindMachine(request.machine);
    if (machine.has_value()) {
      version = parts_.database->versions().Of(*machine);
    }
    segments =
        parts_.log->index().Find(request.machine, request.from, request.to);
    snapshot = parts_.database->TakeSnapshot();
    if (!segments.empty()) {
      recent.found =
          parts_.recent->Find(request.machine, request.from, request.to);
    }
  }
  Chunks chunks;
  if (machine.has_value()) {
    RETURN_IF_ERROR(
        FindChunks(*machine, version, request, *snapshot, on_loss, &chunks));
  }
  if (request.on_epoch) {
    RETURN_IF_ERROR(ReportEpochs(request, segments, chunks, *snapshot));
  }
  // The chunks of an epoch precede its batches in the log.
  auto segment = segments.begin();
  const auto read_segments_before = [&](uint32_t epoch_number) -> absl::Status {
    for (; segment != segments.end() && segment->epoch_number < epoch_number;
         ++segment) {
      RETURN_IF_ERROR(ReadSegment(*segment, request, *snapshot, &recent,
                                  on_frame, on_loss));
    }
    return absl::OkStatus();
  };
  Queries queries;
  for (auto& chunk : chunks) {
    RETURN_IF_ERROR(read_segments_before(chunk->stored().key.epoch_number));
    if (request.on_chunk) RETURN_IF_ERROR(request.on_chunk());
    const ChunkKey key = chunk->stored().key;
    const absl::Status status =
        ReadChunk(*chunk, request, *snapshot, &queries, on_frame);
    chunk.reset();  // with its parts in memory, unless cached
    if (absl::IsDataLoss(status)) {
      LogDamage(request.machine, status);
      on_loss(
          DamagedHours(key.hour, key.hour + HoursOfChunk(key.resolution) - 1));
    } else if (!status.ok()) {
      return status;
    }
  }
  return read_segments_before(UINT32_MAX);
}

absl::Status SampleReader::FindChunks(uint32_t machine,
                                      std::optional<uint64_t> version,
                                      const Store::ReadRequest& request,
                                      const Snapshot& snapshot, OnLoss on_loss,
                                      Chunks* chunks) {
  const uint32_t first_hour = HourOf(request.from);
  const uint32_t last_hour = HourOf(request.to);
  const bool is_current =
      version.has_value() && parts_.database->versions().Of(machine) == version;
  std::shared_ptr<const MachineChunks> found;
  if (is_current) {
    found = cache_.Find(machine, first_hour, last_hour, *version);
  }
  const bool is_known = found != nullptr;
  if (!is_known) {
    bool is_damaged = false;
    ASSIGN_OR_RETURN(auto listed, ListChunks(machine, first_hour, last_hour,
                                             request, snapshot, &is_damaged));
    // Damage is reported each time.
    if (is_current && !is_damaged) {
      listed->version = *version;
      cache_.Put(machine, listed);
    }
    found = std::move(listed);
  }
  for (const auto& chunk : found->chunks) {
    const ChunkKey& key = chunk->stored().key;
    const uint32_t hours = HoursOfChunk(key.resolution);
    if (key.hour < first_hour - first_hour % hours || key.hour > last_hour) {
      continue;
    }
    // ListChunks has called it for the others.
    if (is_known && request.on_chunk) RETURN_IF_ERROR(request.on_chunk());
    chunks->push_back(chunk);
  }
  for (const Loss& loss : found->losses) {
    if (loss.end >= request.from && loss.start <= request.to) on_loss(loss);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<MachineChunks>> SampleReader::ListChunks(
    uint32_t machine, uint32_t first_hour, uint32_t last_hour,
    const Store::ReadRequest& request, const Snapshot& snapshot,
    bool* is_damaged) const {
  auto listed = std::make_shared<MachineChunks>();
  listed->first_hour = first_hour;
  listed->last_hour = last_hour;
  // The hours of the readable chunks before and after damage. In between,
  // chunks may be missing.
  uint32_t hour = first_hour;
  std::optional<uint32_t> damaged_from;
  const auto end_damage = [&](uint32_t last_damaged) {
    if (!damaged_from.has_value()) return;
    listed->losses.push_back(DamagedHours(*damaged_from, last_damaged));
    damaged_from.reset();
  };
  const auto on_damage = [&](const absl::Status& damage) {
    *is_damaged = true;
    LogDamage(request.machine, damage);
    if (!damaged_from.has_value()) damaged_from = hour;
  };
  const auto entry = parts_.database->Iterate(Family::kChunks, &snapshot);
  for (const Resolution resolution : kResolutions) {
    hour = first_hour - first_hour % HoursOfChunk(resolution);
    RETURN_IF_ERROR(ForEachChunk(
        entry.get(), machine, resolution, first_hour, last_hour,
        [&](StoredChunk chunk) {
          hour = chunk.key.hour;
          end_damage(hour + HoursOfChunk(resolution) - 1);
          listed->chunks.push_back(
              std::make_shared<const HeldChunk>(std::move(chunk), &budgets_));
          return request.on_chunk ? request.on_chunk() : absl::OkStatus();
        },
        on_damage));
    end_damage(last_hour);
  }
  hour = first_hour;
  const absl::Time from =
      first_hour > 0 ? StartOfHour(first_hour) : absl::InfinitePast();
  RETURN_IF_ERROR(ForEachLoss(
      entry.get(), machine, from, EndOfHour(last_hour),
      [&](const Loss& loss) { listed->losses.push_back(loss); }, on_damage));
  end_damage(last_hour);
  SortByOrder(&listed->chunks);
  return listed;
}

absl::Status SampleReader::ReportEpochs(const Store::ReadRequest& request,
                                        const std::vector<LogSegment>& segments,
                                        const Chunks& chunks,
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
      parts_.database->Iterate(Family::kTimes, &snapshot, &end_slice);
  logged->Seek(LogKey(epoch_number, 0));
  RETURN_IF_ERROR(FromRocksDb(logged->status(), "read its log"));
  uint32_t epoch_of_first = 0;
  uint64_t first = 0;
  if (logged->Valid() &&
      ParseLogKey(ToView(logged->key()), &epoch_of_first, &first) &&
      epoch_of_first == epoch_number) {
    return first - 1;
  }
  const auto durable = parts_.database->Get(
      Family::kDefault, DurableKey(epoch_number), &snapshot);
  if (absl::IsNotFound(durable.status())) return 0;
  RETURN_IF_ERROR(durable.status());
  absl::string_view record = *durable;
  uint64_t sequence = 0;
  return GetBigEndian(&record, &sequence) ? sequence : 0;
}

absl::StatusOr<std::shared_ptr<const CollectedQuery>> SampleReader::QueryOf(
    uint32_t shape, const Store::ReadRequest& request, Queries* queries) const {
  const auto known = queries->find(shape);
  if (known != queries->end()) return known->second;
  ASSIGN_OR_RETURN(const auto of_any_machine, parts_.numbers->ShapeOf(shape));
  std::shared_ptr<CollectedQuery> query;
  if (!request.filter || request.filter(*of_any_machine)) {
    query = std::make_shared<CollectedQuery>(*of_any_machine);
    query->machine = request.machine;
  }
  return (*queries)[shape] = std::move(query);
}

absl::Status SampleReader::ReadChunk(const HeldChunk& held,
                                     const Store::ReadRequest& request,
                                     const Snapshot& snapshot, Queries* queries,
                                     OnFrame on_frame) {
  ASSIGN_OR_RETURN(Chunk chunk, held.Open(BodyOf(*parts_.database, &snapshot,
                                                 held.stored())));
  if (chunk.ends() != nullptr && !IsInRange(*chunk.ends(), request)) {
    return absl::OkStatus();
  }
  std::optional<Chunk::TickRange> ticks;  // if samples are needed
  for (size_t section = 0; section < chunk.sections(); ++section) {
    ASSIGN_OR_RETURN(const auto query,
                     QueryOf(chunk.ShapeOf(section), request, queries));
    if (query == nullptr) continue;
    const std::vector<bool> columns =
        request.columns ? request.columns(*query)
                        : std::vector<bool>(query->columns.size(), true);
    std::function<bool(const Instance&)> wants;
    if (request.instances) {
      wants = [&](const Instance& instance) {
        return request.instances(*query, instance);
      };
    }
    ASSIGN_OR_RETURN(
        const std::optional<Frame> folded,
        ReadFolded(request, section, query, columns, wants, &chunk));
    if (folded.has_value()) {
      RETURN_IF_ERROR(on_frame(*folded));
      continue;
    }
    if (!ticks.has_value()) {
      ASSIGN_OR_RETURN(const Chunk::Clocks clocks, held.Clocks());
      chunk.SetClocks(clocks);
      ticks = TicksBetween(*clocks, request.from, request.to);
      if (!ticks.has_value()) return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(const Frame frame,
                     chunk.Read(section, query, columns, *ticks, wants));
    RETURN_IF_ERROR(on_frame(frame));
  }
  return absl::OkStatus();
}

absl::Status SampleReader::ReadRecent(const Store::ReadRequest& request,
                                      Recent* recent, OnFrame on_frame,
                                      OnLoss on_loss) {
  if (request.on_epoch) {
    for (const RecentBatches::Found::OfEpoch& epoch : recent->found.epochs) {
      if (recent->found.HasBatchOf(epoch.number)) {
        request.on_epoch(epoch.number, epoch.last_sequence);
      }
    }
  }
  for (const auto& batch : recent->found.batches) {
    RETURN_IF_ERROR(ReadBatch(*batch, request, recent, on_frame, on_loss));
  }
  return absl::OkStatus();
}

absl::Status SampleReader::ReadBatch(const RecentBatch& batch,
                                     const Store::ReadRequest& request,
                                     Recent* recent, OnFrame on_frame,
                                     OnLoss on_loss) {
  const bool is_inside = batch.times().oldest >= request.from &&
                         batch.times().newest <= request.to;
  RETURN_IF_ERROR(
      batch.Read(&recent->selector, [&](Frame frame) -> absl::Status {
        if (frame.clocks->empty() ||
            (!is_inside &&
             !RemoveRunsOutside(request.from, request.to, &frame))) {
          return absl::OkStatus();
        }
        return on_frame(frame);
      }));
  ReportLosses(batch.losses(), request.machine, on_loss);
  return absl::OkStatus();
}

absl::Status SampleReader::FindElsewhere(const std::string& machine) {
  RecentBatches::Found recent;
  std::vector<LogSegment> segments;
  std::unique_ptr<const Snapshot> snapshot;
  {
    absl::ReaderMutexLock lock(parts_.layout);
    recent = parts_.recent->Find(machine, absl::InfiniteFuture(),
                                 absl::InfinitePast());
    segments = parts_.log->index().Find(machine, absl::InfinitePast(),
                                        absl::InfiniteFuture());
    snapshot = parts_.database->TakeSnapshot();
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
  const auto number = parts_.numbers->FindMachine(machine);
  if (number.has_value()) {
    const auto entry =
        parts_.database->Iterate(Family::kChunks, snapshot.get());
    for (const Resolution resolution : kResolutions) {
      RETURN_IF_ERROR(ForEachChunk(
          entry.get(), *number, resolution, first_hour, UINT32_MAX,
          [&](const StoredChunk& stored) {
            return FindNewest(*parts_.database, *snapshot, stored, &newest);
          },
          ignore));
    }
    RETURN_IF_ERROR(ForEachLoss(
        entry.get(), *number, newest, absl::InfiniteFuture(),
        [&](const Loss& loss) { newest = std::max(newest, loss.end); },
        ignore));
  }
  parts_.recent->SetNewestElsewhere(machine, newest);
  return absl::OkStatus();
}

absl::Status SampleReader::ReadSegment(const LogSegment& segment,
                                       const Store::ReadRequest& request,
                                       const Snapshot& snapshot, Recent* recent,
                                       OnFrame on_frame, OnLoss on_loss) {
  const uint64_t held = recent->found.FirstSequence(segment.epoch_number);
  if (segment.first_sequence < held) {
    LogSegment logged = segment;
    logged.last_sequence = std::min(logged.last_sequence, held - 1);
    RETURN_IF_ERROR(ReadLogged(logged, request, snapshot, on_frame, on_loss));
  }
  for (const auto& batch : recent->found.batches) {
    if (batch->epoch_number() != segment.epoch_number ||
        batch->sequence() < segment.first_sequence ||
        batch->sequence() > segment.last_sequence) {
      continue;
    }
    RETURN_IF_ERROR(ReadBatch(*batch, request, recent, on_frame, on_loss));
  }
  return absl::OkStatus();
}

absl::Status SampleReader::ReadLogged(const LogSegment& segment,
                                      const Store::ReadRequest& request,
                                      const Snapshot& snapshot,
                                      OnFrame on_frame, OnLoss on_loss) {
  const QueryFilter filter = [&](const CollectedQuery& query) {
    return query.machine == request.machine &&
           (!request.filter || request.filter(query));
  };
  return parts_.log->Read(
      segment, request.from, request.to, filter, &snapshot,
      [&](LoggedBatch batch) -> absl::Status {
        for (Frame& frame : batch.decoded.frames) {
          if (RemoveRunsOutside(request.from, request.to, &frame)) {
            RETURN_IF_ERROR(on_frame(frame));
          }
        }
        ReportLosses(batch.decoded.losses, request.machine, on_loss);
        return absl::OkStatus();
      },
      [&](uint64_t, const BatchTimes& times, const absl::Status& damage) {
        LogDamage(request.machine, damage);
        if (absl::IsDataLoss(damage)) {
          on_loss(DamagedBetween(times.oldest, times.newest));
        }
        return absl::OkStatus();
      });
}

std::optional<absl::Time> SampleReader::NewestLogged(
    const std::string& machine) {
  // Samples are ordered by epoch and sequence, so the newest segment of the
  // newest epoch comes first.
  auto segments = parts_.log->index().Find(machine, absl::InfinitePast(),
                                           absl::InfiniteFuture());
  std::reverse(segments.begin(), segments.end());
  if (segments.size() > kMaxSegmentsSearched) {
    segments.resize(kMaxSegmentsSearched);
  }
  const auto snapshot = parts_.database->TakeSnapshot();
  for (const LogSegment& segment : segments) {
    // The newest batch usually has the sample, unless it has only losses or
    // samples of other machines.
    for (const absl::Time from : {segment.times.newest, segment.times.oldest}) {
      std::optional<absl::Time> newest;
      const absl::Status status = ReadLogged(
          segment,
          {.machine = machine, .from = from, .to = absl::InfiniteFuture()},
          *snapshot,
          [&](const Frame& frame) {
            if (!frame.clocks->empty()) {
              const absl::Time time = TimeOf(frame.clocks->back());
              newest = std::max(newest.value_or(time), time);
            }
            return absl::OkStatus();
          },
          [](const Loss&) {});
      if (!status.ok()) {
        LogWarningOf(machine, absl::StrCat("cannot read the newest samples of ",
                                           machine, ": ", status.message()));
      }
      if (newest.has_value()) return newest;
    }
  }
  return std::nullopt;
}

}  // namespace fleetperf::aggregator
