#include "aggregator/store/export_reader.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "aggregator/formula/piece.h"
#include "aggregator/store/tables/chunk_table.h"
#include "aggregator/store/tables/keys.h"
#include "base/logging.h"
#include "base/status_macros.h"

namespace fleetperf::aggregator {
namespace {

// About this many values of a chunk are passed on between two positions at
// which progress may be stored.
constexpr size_t kValuesOfPart = 20'000;

// Reads one machine, once.
class MachineRead {
 public:
  MachineRead(const ExportReader::Parts& parts,
              const UnexportedRequest& request, UnexportedSink* sink)
      : parts_(parts), request_(request), sink_(*sink) {}

  absl::Status Run() {
    RETURN_IF_ERROR(FindUnexported());
    if (oldest_ == absl::InfiniteFuture()) return absl::OkStatus();
    earliest_ = oldest_;
    RETURN_IF_ERROR(FindEarlier());
    sink_.Begin(received_, FindLost());
    for (auto& [number, epoch] : epochs_) {
      RETURN_IF_ERROR(ReadChunks(number, &epoch));
      RETURN_IF_ERROR(ReadLog(number, &epoch));
    }
    return absl::OkStatus();
  }

 private:
  struct Epoch {
    ExportCursor cursor;
    std::vector<LogSegment> segments;
    // Sequences in the log that are not exported: after the first one, up to
    // the last one.
    uint64_t after = 0;
    uint64_t last = 0;
    bool has_new() const { return last > after; }
    uint64_t last_listed = 0;  // sequence; later batches are not in `listed`
    // The last hour with the beginning of something that is not exported.
    uint32_t last_hour = 0;
    // Whether a batch waits for definitions that were lost.
    bool is_waiting = false;
    std::vector<UnexportedChunk> listed;
    // The chunks to read, by order; if listed, with the list's entry.
    std::vector<std::pair<StoredChunk, std::optional<UnexportedChunk>>> chunks;
  };

  absl::Status FindUnexported() {
    {
      absl::ReaderMutexLock lock(parts_.layout);
      for (LogSegment& segment :
           parts_.log->index().Find(request_.machine, absl::InfinitePast(),
                                    absl::InfiniteFuture())) {
        epochs_[segment.epoch_number].segments.push_back(std::move(segment));
      }
      snapshot_ = parts_.database->TakeSnapshot();
    }
    ASSIGN_OR_RETURN(machine_, parts_.numbers->GetMachine(request_.machine));
    ASSIGN_OR_RETURN(const auto listed,
                     parts_.exports->FindChunks(machine_, *snapshot_));
    for (const UnexportedChunk& chunk : listed) {
      Epoch& epoch = epochs_[chunk.key.epoch_number];
      epoch.listed.push_back(chunk);
      epoch.last_listed = std::max(epoch.last_listed, chunk.last_sequence);
      epoch.last_hour = std::max(epoch.last_hour, chunk.key.hour);
      oldest_ = std::min(oldest_, StartOfHour(chunk.key.hour));
      received_ = std::min(received_, chunk.received);
    }
    for (auto& [number, epoch] : epochs_) {
      ASSIGN_OR_RETURN(epoch.cursor, parts_.exports->GetCursor(
                                         number, machine_, snapshot_.get()));
      RETURN_IF_ERROR(FindNew(number, &epoch));
    }
    return absl::OkStatus();
  }

  // Finds the batches of the log that are not exported.
  absl::Status FindNew(uint32_t number, Epoch* epoch) {
    if (epoch->segments.empty()) return absl::OkStatus();
    // Batches before the log's first one are in chunks.
    epoch->after = std::max(epoch->cursor.sequence,
                            epoch->segments.front().first_sequence - 1);
    epoch->last = epoch->segments.back().last_sequence;
    if (!epoch->has_new()) return absl::OkStatus();
    const std::string end = EndOfPrefix(LogKey(number, epoch->last));
    const rocksdb::Slice end_slice = end;
    const auto entry =
        parts_.database->Iterate(Family::kTimes, snapshot_.get(), &end_slice);
    for (entry->Seek(LogKey(number, epoch->after + 1)); entry->Valid();
         entry->Next()) {
      BatchTimes times;
      uint64_t fingerprint = 0;
      if (!DecodeTimes(ToView(entry->value()), &times, &fingerprint)) continue;
      oldest_ = std::min(oldest_, times.oldest);
      received_ = std::min(received_, times.received);
      epoch->last_hour = std::max(epoch->last_hour, HourOf(times.oldest));
    }
    return FromRocksDb(entry->status(), "read its log");
  }

  // Finds where the samples are that the first unexported pieces begin with.
  absl::Status FindEarlier() {
    intervals_ = request_.intervals;
    std::sort(intervals_.begin(), intervals_.end());
    if (!intervals_.empty()) {
      earliest_ = oldest_ - intervals_.back() * kMaxIntervalsBefore;
    }
    RETURN_IF_ERROR(FindRecent());
    bool needs_chunks = false;
    uint32_t last_hour = HourOf(oldest_);
    for (const auto& [number, epoch] : epochs_) {
      last_hour = std::max(last_hour, epoch.last_hour);
      needs_chunks = needs_chunks || !epoch.listed.empty();
      if (epoch.has_new() && recent_.complete_after >= earliest_) {
        ASSIGN_OR_RETURN(const bool is_logged, LogBegins(number));
        needs_chunks = needs_chunks || !is_logged;
      }
    }
    if (!needs_chunks) return absl::OkStatus();
    const auto entry =
        parts_.database->Iterate(Family::kChunks, snapshot_.get());
    RETURN_IF_ERROR(ForEachChunk(
        entry.get(), machine_, Resolution::kFull, HourOf(earliest_), last_hour,
        [&](StoredChunk chunk) {
          AddChunk(std::move(chunk));
          return absl::OkStatus();
        },
        [&](const absl::Status& damage) { LogDamage(damage); }));
    for (auto& [number, epoch] : epochs_) {
      std::sort(epoch.chunks.begin(), epoch.chunks.end(),
                [](const auto& a, const auto& b) {
                  return a.first.key.order < b.first.key.order;
                });
    }
    return absl::OkStatus();
  }

  absl::Status FindRecent() {
    recent_ = parts_.recent->Find(request_.machine, earliest_,
                                  absl::InfiniteFuture());
    if (recent_.epochs.empty() ||
        recent_.complete_after < absl::InfiniteFuture()) {
      return absl::OkStatus();
    }
    RETURN_IF_ERROR(parts_.samples->FindElsewhere(request_.machine));
    recent_ = parts_.recent->Find(request_.machine, earliest_,
                                  absl::InfiniteFuture());
    return absl::OkStatus();
  }

  // Whether the log has the epoch from its beginning, or from `earliest_`.
  absl::StatusOr<bool> LogBegins(uint32_t number) {
    const std::string end = EndOfPrefix(LogKey(number, kMaxSequence));
    const rocksdb::Slice end_slice = end;
    const auto entry =
        parts_.database->Iterate(Family::kTimes, snapshot_.get(), &end_slice);
    entry->Seek(LogKey(number, 0));
    RETURN_IF_ERROR(FromRocksDb(entry->status(), "read its log"));
    uint32_t of_first = 0;
    uint64_t first = 0;
    BatchTimes times;
    uint64_t fingerprint = 0;
    return entry->Valid() &&
           ParseLogKey(ToView(entry->key()), &of_first, &first) &&
           DecodeTimes(ToView(entry->value()), &times, &fingerprint) &&
           (first == 1 || times.oldest <= earliest_);
  }

  void AddChunk(StoredChunk chunk) {
    const auto epoch = epochs_.find(chunk.key.epoch_number);
    if (epoch == epochs_.end()) return;
    std::optional<UnexportedChunk> entry;
    for (const UnexportedChunk& listed : epoch->second.listed) {
      if (listed.key == chunk.key) entry = listed;
    }
    // Of other chunks, only ticks before unexported ones are needed.
    if (chunk.key.hour > std::max(HourOf(oldest_), epoch->second.last_hour)) {
      return;
    }
    epoch->second.chunks.emplace_back(std::move(chunk), entry);
  }

  // Returns the values of listed chunks that are no longer there.
  uint64_t FindLost() const {
    uint64_t lost = 0;
    for (const auto& [number, epoch] : epochs_) {
      for (const UnexportedChunk& listed : epoch.listed) {
        if (!IsThere(epoch, listed)) lost += listed.values;
      }
    }
    return lost;
  }
  static bool IsThere(const Epoch& epoch, const UnexportedChunk& listed) {
    return std::any_of(
        epoch.chunks.begin(), epoch.chunks.end(),
        [&](const auto& chunk) { return chunk.first.key == listed.key; });
  }

  absl::Status ReadChunks(uint32_t number, Epoch* epoch) {
    for (const auto& [stored, listed] : epoch->chunks) {
      const absl::Status status = listed.has_value()
                                      ? ReadUnexported(stored, number, epoch)
                                      : ReadEarlier(stored);
      if (absl::IsDataLoss(status)) {
        LogDamage(status);
      } else if (!status.ok()) {
        return status;
      }
      if (listed.has_value()) {
        Advance(number, *epoch, {UnexportedKey(HeadKey(stored.key))});
      }
    }
    if (epoch->listed.empty()) return absl::OkStatus();
    // The epoch's batches up to these are all in chunks.
    std::vector<std::string> taken;
    for (const UnexportedChunk& listed : epoch->listed) {
      taken.push_back(UnexportedKey(HeadKey(listed.key)));
      epoch->cursor.sequence =
          std::max(epoch->cursor.sequence, listed.last_sequence);
    }
    Advance(number, *epoch, std::move(taken));
    return absl::OkStatus();
  }

  absl::Status ReadUnexported(const StoredChunk& stored, uint32_t number,
                              Epoch* epoch) {
    ASSIGN_OR_RETURN(Chunk chunk,
                     OpenChunk(*parts_.database, snapshot_.get(), stored));
    ASSIGN_OR_RETURN(const Chunk::Clocks clocks, chunk.ReadClocks());
    const auto ticks = static_cast<uint32_t>(clocks->size());
    for (size_t section = 0; section < chunk.sections(); ++section) {
      const uint32_t shape = chunk.ShapeOf(section);
      const uint32_t first =
          FirstNew(*clocks, stored.key, epoch->cursor, shape);
      ASSIGN_OR_RETURN(const auto query, QueryOf(shape));
      if (query == nullptr) continue;
      ASSIGN_OR_RETURN(const Frame frame, ReadSection(&chunk, section, query));
      RETURN_IF_ERROR(sink_.BeginFrame(frame, first));
      const size_t values = std::max<size_t>(
          1, frame.runs.size() * std::max<size_t>(1, frame.columns.size()));
      const auto part =
          static_cast<uint32_t>(std::max<size_t>(1, kValuesOfPart / values));
      for (uint32_t begin = first; begin < ticks; begin += part) {
        const uint32_t end = begin + std::min(part, ticks - begin);
        RETURN_IF_ERROR(sink_.AddTicks(begin, end));
        epoch->cursor.ticks[shape] = {.order = stored.key.order,
                                      .clocks = (*clocks)[end - 1]};
        Advance(number, *epoch, {});
      }
    }
    return absl::OkStatus();
  }

  // The tick after the last exported one of a listed chunk. See ExportTable.
  static uint32_t FirstNew(const std::vector<perflib::Clocks>& clocks,
                           const ChunkKey& key, const ExportCursor& cursor,
                           uint32_t shape) {
    const auto exported = cursor.ticks.find(shape);
    if (exported == cursor.ticks.end() || key.order > exported->second.order) {
      return 0;
    }
    const auto last =
        std::find(clocks.begin(), clocks.end(), exported->second.clocks);
    if (last != clocks.end()) {
      return static_cast<uint32_t>(last - clocks.begin()) + 1;
    }
    return key.order == exported->second.order
               ? 0
               : static_cast<uint32_t>(clocks.size());
  }

  // Passes on what the first pieces begin with.
  absl::Status ReadEarlier(const StoredChunk& stored) {
    ASSIGN_OR_RETURN(Chunk chunk,
                     OpenChunk(*parts_.database, snapshot_.get(), stored));
    const absl::Duration longest =
        intervals_.empty() ? absl::ZeroDuration() : intervals_.back();
    if (chunk.ends() != nullptr &&
        !MayBegin(longest, TimeOf(chunk.ends()->back()))) {
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(const Chunk::Clocks clocks, chunk.ReadClocks());
    if (clocks->empty()) return absl::OkStatus();
    for (size_t section = 0; section < chunk.sections(); ++section) {
      ASSIGN_OR_RETURN(const auto query, QueryOf(chunk.ShapeOf(section)));
      if (query == nullptr ||
          !MayBegin(query->interval, TimeOf(clocks->back()))) {
        continue;
      }
      Chunk::TickRange ticks{.first = clocks->size() - 1};
      while (ticks.first > 0 &&
             MayBegin(query->interval, TimeOf((*clocks)[ticks.first - 1]))) {
        --ticks.first;
      }
      ASSIGN_OR_RETURN(const Frame frame,
                       ReadSection(&chunk, section, query, ticks));
      RETURN_IF_ERROR(
          sink_.BeginFrame(frame, static_cast<uint32_t>(clocks->size())));
    }
    return absl::OkStatus();
  }

  // Whether a piece of a query with this interval may begin at a time.
  bool MayBegin(absl::Duration interval, absl::Time time) const {
    return time >= oldest_ - interval * kMaxIntervalsBefore;
  }

  absl::StatusOr<Frame> ReadSection(
      Chunk* chunk, size_t section,
      const std::shared_ptr<const CollectedQuery>& query,
      const Chunk::TickRange& ticks = Chunk::TickRange()) const {
    return chunk->Read(section, query, ColumnsOf(*query), ticks,
                       /*wants=*/nullptr);
  }

  std::vector<bool> ColumnsOf(const CollectedQuery& query) const {
    return request_.columns ? request_.columns(query)
                            : std::vector<bool>(query.columns.size(), true);
  }

  // Returns null if the request does not select the query.
  absl::StatusOr<std::shared_ptr<const CollectedQuery>> QueryOf(
      uint32_t shape) {
    const auto [known, is_new] = queries_.try_emplace(shape);
    if (!is_new) return known->second;
    ASSIGN_OR_RETURN(const auto of_any_machine, parts_.numbers->ShapeOf(shape));
    auto query = std::make_shared<CollectedQuery>(*of_any_machine);
    query->machine = request_.machine;
    if (Selects(*query)) known->second = std::move(query);
    return known->second;
  }

  bool Selects(const CollectedQuery& query) const {
    return query.machine == request_.machine && !query.is_thinned() &&
           (!request_.filter || request_.filter(query));
  }

  // Memory has the epoch's newest batches, the log has those before.
  absl::Status ReadLog(uint32_t number, Epoch* epoch) {
    const uint64_t held = recent_.FirstSequence(number);
    for (LogSegment segment : epoch->segments) {
      if (segment.first_sequence >= held) break;
      segment.last_sequence = std::min(segment.last_sequence, held - 1);
      const absl::Status read = ReadSegment(segment, number, epoch);
      if (epoch->is_waiting) return absl::OkStatus();
      RETURN_IF_ERROR(read);
    }
    for (const auto& batch : recent_.batches) {
      if (batch->epoch_number() != number) continue;
      RETURN_IF_ERROR(ReadRecent(*batch, number, epoch));
    }
    if (!epoch->has_new() || epoch->cursor.sequence >= epoch->last) {
      return absl::OkStatus();
    }
    epoch->cursor.sequence = epoch->last;
    Advance(number, *epoch, {});
    return absl::OkStatus();
  }

  absl::Status ReadSegment(const LogSegment& segment, uint32_t number,
                           Epoch* epoch) {
    return parts_.log->Read(
        segment, earliest_, absl::InfiniteFuture(),
        [this](const CollectedQuery& query) { return Selects(query); },
        snapshot_.get(),
        [&](LoggedBatch batch) -> absl::Status {
          const uint64_t sequence = batch.sequence;
          const bool is_new = sequence > epoch->after;
          for (const Frame& frame : batch.decoded.frames) {
            RETURN_IF_ERROR(AddFrame(frame, sequence, is_new, epoch));
          }
          return EndBatch(sequence, is_new, number, epoch);
        },
        [&](uint64_t sequence, const absl::Status& damage) {
          if (sequence > epoch->after && absl::IsFailedPrecondition(damage) &&
              parts_.lost_definitions->MayCome(number)) {
            epoch->is_waiting = true;
            return damage;
          }
          LogDamage(damage);
          return absl::OkStatus();
        });
  }

  absl::Status ReadRecent(const RecentBatch& batch, uint32_t number,
                          Epoch* epoch) {
    const uint64_t sequence = batch.sequence();
    const bool is_new = epoch->has_new() && sequence > epoch->after;
    // Later batches are left for the next read. Those that may be in chunks of
    // the list were read there.
    if (sequence > std::max(epoch->after, epoch->last) ||
        (!is_new && sequence <= epoch->last_listed)) {
      return absl::OkStatus();
    }
    RecentBatch::Selector* const selector =
        is_new ? SelectorOf(absl::ZeroDuration())
               : SelectorOf((oldest_ - batch.times().newest) /
                            kMaxIntervalsBefore);
    if (selector != nullptr) {
      RETURN_IF_ERROR(batch.Read(selector, [&](Frame frame) {
        return AddFrame(frame, sequence, is_new, epoch);
      }));
    }
    return EndBatch(sequence, is_new, number, epoch);
  }

  // Returns the selector of the queries with at least this interval. Null if
  // there is none.
  RecentBatch::Selector* SelectorOf(absl::Duration least) {
    const auto first =
        std::lower_bound(intervals_.begin(), intervals_.end(), least);
    if (first == intervals_.end() && least > absl::ZeroDuration()) {
      return nullptr;
    }
    const absl::Duration shortest =
        first == intervals_.begin() ? absl::ZeroDuration() : *first;
    const auto [known, is_new] = selectors_.try_emplace(shortest);
    if (is_new) {
      known->second =
          std::make_unique<RecentBatch::Selector>(RecentBatch::Selection{
              .queries =
                  [this, shortest](const CollectedQuery& query) {
                    return query.interval >= shortest && Selects(query);
                  },
              .columns = request_.columns,
              .instances = nullptr});
    }
    return known->second.get();
  }

  absl::Status AddFrame(const Frame& frame, uint64_t sequence, bool is_new,
                        Epoch* epoch) {
    if (frame.clocks->empty()) return absl::OkStatus();
    const perflib::Clocks& last = frame.clocks->back();
    if (!is_new && !MayBegin(frame.query->interval, TimeOf(last))) {
      return absl::OkStatus();
    }
    const auto ticks = static_cast<uint32_t>(frame.clocks->size());
    RETURN_IF_ERROR(sink_.BeginFrame(frame, is_new ? 0 : ticks));
    if (!is_new) return absl::OkStatus();
    RETURN_IF_ERROR(sink_.AddTicks(0, ticks));
    const auto [shape, is_unknown] = shapes_.try_emplace(frame.query);
    if (is_unknown) {
      ASSIGN_OR_RETURN(shape->second, parts_.numbers->GetShape(*frame.query));
    }
    epoch->cursor.ticks[shape->second] = {.order = OrderOf(sequence),
                                          .clocks = last};
    return absl::OkStatus();
  }

  absl::Status EndBatch(uint64_t sequence, bool is_new, uint32_t number,
                        Epoch* epoch) {
    if (!is_new) return absl::OkStatus();
    epoch->cursor.sequence = sequence;
    Advance(number, *epoch, {});
    return absl::OkStatus();
  }

  void Advance(uint32_t number, const Epoch& epoch,
               std::vector<std::string> taken_chunks) {
    sink_.Advance({.cursor_key = ExportCursorKey(number, machine_),
                   .cursor = epoch.cursor.Encode(),
                   .taken_chunks = std::move(taken_chunks)});
  }

  void LogDamage(const absl::Status& status) const {
    LogErrorOf(request_.machine,
               absl::StrCat("did not export some samples of ", request_.machine,
                            ": ", status.message()));
  }

  const ExportReader::Parts& parts_;
  const UnexportedRequest& request_;
  UnexportedSink& sink_;
  uint32_t machine_ = 0;
  std::unique_ptr<const Snapshot> snapshot_;
  std::map<uint32_t, Epoch> epochs_;  // by number
  // The oldest unexported samples, by the machine's clock and by receipt.
  absl::Time oldest_ = absl::InfiniteFuture();
  absl::Time received_ = absl::InfiniteFuture();
  absl::Time earliest_;  // of the samples that serve as older ones
  std::vector<absl::Duration> intervals_;  // sorted
  RecentBatches::Found recent_;
  std::map<absl::Duration, std::unique_ptr<RecentBatch::Selector>> selectors_;
  absl::flat_hash_map<uint32_t, std::shared_ptr<const CollectedQuery>> queries_;
  absl::flat_hash_map<std::shared_ptr<const CollectedQuery>, uint32_t> shapes_;
};

}  // namespace

absl::Status ExportReader::Read(const UnexportedRequest& request,
                                UnexportedSink* sink) {
  return MachineRead(parts_, request, sink).Run();
}

}  // namespace fleetperf::aggregator
