#include "aggregator/store/export_reader.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "aggregator/store/tables/chunk_table.h"
#include "aggregator/store/tables/keys.h"
#include "aggregator/store/unexported_finder.h"
#include "base/status_macros.h"
#include "values/clock_check.h"

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
    ASSIGN_OR_RETURN(found_, FindUnexported(parts_, request_));
    if (found_.empty()) return absl::OkStatus();
    sink_.Begin(found_.received, found_.lost);
    for (auto& [number, epoch] : found_.epochs) {
      RETURN_IF_ERROR(ReadChunks(number, &epoch));
      RETURN_IF_ERROR(ReadLog(number, &epoch));
    }
    return absl::OkStatus();
  }

 private:
  using Epoch = UnexportedSamples::Epoch;

  absl::Status ReadChunks(uint32_t number, Epoch* epoch) {
    for (const auto& [stored, is_listed] : epoch->chunks) {
      const absl::Status status = is_listed
                                      ? ReadUnexported(stored, number, epoch)
                                      : ReadEarlier(stored);
      if (absl::IsDataLoss(status)) {
        LogUnexportedDamage(request_.machine, status);
      } else if (!status.ok()) {
        return status;
      }
      if (is_listed) {
        Advance(number, *epoch, {UnexportedKey(HeadKey(stored.key))});
      }
    }
    if (epoch->listed.empty()) return absl::OkStatus();
    // The epoch's batches up to these are all in chunks.
    std::vector<std::string> taken;
    for (const auto& [key, listed] : epoch->listed) {
      taken.push_back(UnexportedKey(HeadKey(key)));
      epoch->cursor.sequence =
          std::max(epoch->cursor.sequence, listed.last_sequence);
    }
    Advance(number, *epoch, std::move(taken));
    return absl::OkStatus();
  }

  absl::Status ReadUnexported(const StoredChunk& stored, uint32_t number,
                              Epoch* epoch) {
    ASSIGN_OR_RETURN(Chunk chunk, OpenChunk(*parts_.sources.database,
                                            found_.snapshot.get(), stored));
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
    ASSIGN_OR_RETURN(Chunk chunk, OpenChunk(*parts_.sources.database,
                                            found_.snapshot.get(), stored));
    const absl::Duration longest = found_.intervals.empty()
                                       ? absl::ZeroDuration()
                                       : found_.intervals.back();
    if (chunk.ends() != nullptr &&
        !found_.MayBegin(longest, TimeOf(chunk.ends()->back()))) {
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(const Chunk::Clocks clocks, chunk.ReadClocks());
    if (clocks->empty()) return absl::OkStatus();
    for (size_t section = 0; section < chunk.sections(); ++section) {
      ASSIGN_OR_RETURN(const auto query, QueryOf(chunk.ShapeOf(section)));
      if (query == nullptr ||
          !found_.MayBegin(query->interval, TimeOf(clocks->back()))) {
        continue;
      }
      Chunk::TickRange ticks{.first = clocks->size() - 1};
      while (ticks.first > 0 &&
             found_.MayBegin(query->interval,
                             TimeOf((*clocks)[ticks.first - 1]))) {
        --ticks.first;
      }
      ASSIGN_OR_RETURN(const Frame frame,
                       ReadSection(&chunk, section, query, ticks));
      RETURN_IF_ERROR(
          sink_.BeginFrame(frame, static_cast<uint32_t>(clocks->size())));
    }
    return absl::OkStatus();
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
    ASSIGN_OR_RETURN(const auto of_any_machine,
                     parts_.sources.numbers->ShapeOf(shape));
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
    const uint64_t held = found_.recent.FirstSequence(number);
    for (LogSegment segment : epoch->segments) {
      if (segment.first_sequence >= held) break;
      segment.last_sequence = std::min(segment.last_sequence, held - 1);
      // Whether a batch waits for definitions that were lost.
      bool is_waiting = false;
      const absl::Status read =
          ReadSegment(segment, number, epoch, &is_waiting);
      if (is_waiting) return absl::OkStatus();
      RETURN_IF_ERROR(read);
    }
    for (const auto& batch : found_.recent.batches) {
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
                           Epoch* epoch, bool* is_waiting) {
    return parts_.sources.log->Read(
        segment, found_.earliest, absl::InfiniteFuture(),
        [this](const CollectedQuery& query) { return Selects(query); },
        found_.snapshot.get(),
        [&](LoggedBatch batch) -> absl::Status {
          const uint64_t sequence = batch.sequence;
          const bool is_new = sequence > epoch->after;
          for (const Frame& frame : batch.decoded.frames) {
            RETURN_IF_ERROR(AddFrame(frame, sequence, is_new, epoch));
          }
          return EndBatch(sequence, is_new, number, epoch);
        },
        [&](uint64_t sequence, const BatchTimes&, const absl::Status& damage) {
          if (sequence > epoch->after && absl::IsFailedPrecondition(damage) &&
              parts_.lost_definitions->MayCome(number)) {
            *is_waiting = true;
            return damage;
          }
          LogUnexportedDamage(request_.machine, damage);
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
               : SelectorOf((found_.oldest - batch.times().newest) /
                            kMaxIntervalsRead);
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
    const auto first = std::lower_bound(found_.intervals.begin(),
                                        found_.intervals.end(), least);
    if (first == found_.intervals.end() && least > absl::ZeroDuration()) {
      return nullptr;
    }
    const absl::Duration shortest =
        first == found_.intervals.begin() ? absl::ZeroDuration() : *first;
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
    if (!is_new && !found_.MayBegin(frame.query->interval, TimeOf(last))) {
      return absl::OkStatus();
    }
    const auto ticks = static_cast<uint32_t>(frame.clocks->size());
    RETURN_IF_ERROR(sink_.BeginFrame(frame, is_new ? 0 : ticks));
    if (!is_new) return absl::OkStatus();
    RETURN_IF_ERROR(sink_.AddTicks(0, ticks));
    const auto [shape, is_unknown] = shapes_.try_emplace(frame.query);
    if (is_unknown) {
      ASSIGN_OR_RETURN(shape->second,
                       parts_.sources.numbers->GetShape(*frame.query));
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
    sink_.Advance({.cursor_key = ExportCursorKey(number, found_.machine),
                   .cursor = epoch.cursor.Encode(),
                   .taken_chunks = std::move(taken_chunks)});
  }

  const ExportReader::Parts& parts_;
  const UnexportedRequest& request_;
  UnexportedSink& sink_;
  UnexportedSamples found_;
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
