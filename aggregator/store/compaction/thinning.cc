#include "aggregator/store/compaction/thinning.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "aggregator/store/tables/chunk_table.h"
#include "aggregator/store/tables/keys.h"
#include "base/logging.h"
#include "base/status_macros.h"

namespace fleetperf::aggregator {
namespace {

// The approximate number of values in memory at once.
constexpr uint64_t kMaxThinnedValues = uint64_t{8} << 20;
// The maximum number of values in a thinned group. With it, a chunk can still
// be read: the limit of a chunk is more than twice as high.
constexpr uint64_t kMaxGroupValues = uint64_t{12} << 20;
// The minimum number of samples per retained tick. Summaries, with growth,
// smallest and largest value, take no less space than fewer samples would.
constexpr int64_t kMinSamples = 10;

bool IsTooLarge(const FrameGroup& group) {
  uint64_t values = 0;
  for (const auto& frame : group) {
    for (const Frame::Run& run : frame->runs) {
      values += uint64_t{run.tick_count} * frame->columns.size();
    }
  }
  return values > kMaxGroupValues;
}

absl::Duration IntervalOf(Resolution resolution) {
  return resolution == Resolution::kHour ? absl::Hours(1) : absl::Minutes(1);
}

}  // namespace

absl::StatusOr<bool> Thinning::Step(Resolution resolution, absl::Time time) {
  if (next_.empty() || next_resolution_ != resolution) {
    next_.clear();
    next_resolution_ = resolution;
    ASSIGN_OR_RETURN(std::vector<ReceivedChunk> chunks,
                     FirstReceived(database_, resolution, time));
    for (ReceivedChunk& chunk : chunks) {
      if (next_.empty() || next_.back()[0].key.machine != chunk.key.machine) {
        next_.emplace_back();
      }
      next_.back().push_back(std::move(chunk));
    }
    if (next_.empty()) return false;
  }
  // A failed unit is found again later. The other units come first.
  absl::Status status;
  while (!next_.empty()) {
    const Unit unit = std::move(next_.back());
    next_.pop_back();
    const absl::Status thinned = Thin(unit, resolution);
    if (thinned.ok()) return true;
    status.Update(thinned);
  }
  return status;
}

absl::Status Thinning::Thin(const Unit& unit, Resolution resolution) {
  for (size_t i = 0; i < unit.size();) {
    size_t end = i;
    while (end < unit.size() &&
           unit[end].key.epoch_number == unit[i].key.epoch_number) {
      ++end;
    }
    RETURN_IF_ERROR(
        ThinEpoch(absl::MakeConstSpan(unit).subspan(i, end - i), resolution));
    i = end;
  }
  return absl::OkStatus();
}

absl::Status Thinning::ThinEpoch(absl::Span<const ReceivedChunk> chunks,
                                 Resolution resolution) {
  ChunkGroupReader reader(&database_, &numbers_);
  while (!chunks.empty()) {
    Changes changes(&database_);
    if (Pays(chunks[0], resolution)) {
      RETURN_IF_ERROR(ThinFirst(&chunks, resolution, &reader, &changes));
    } else {
      ListAs(resolution, chunks[0], &changes);
      chunks.remove_prefix(1);
    }
    RETURN_IF_ERROR(database_.Write(&changes, Database::Durability::kProcess));
  }
  return absl::OkStatus();
}

absl::Status Thinning::ThinFirst(absl::Span<const ReceivedChunk>* chunks,
                                 Resolution resolution,
                                 ChunkGroupReader* reader, Changes* changes) {
  const ChunkKey like = chunks->front().key;
  Thinner thinner(IntervalOf(resolution));
  RETURN_IF_ERROR(FollowEpoch(chunks->front(), resolution, &thinner));
  Transposer transposer(HoursOfChunk(resolution));
  bool goes_on = true;
  // Stops at the memory limit, or if a chunk stays unchanged: samples after
  // that chunk must not be in the same chunk as samples before it.
  while (goes_on && !chunks->empty() && Pays(chunks->front(), resolution) &&
         transposer.values() < kMaxThinnedValues) {
    ASSIGN_OR_RETURN(goes_on, ThinChunk(chunks->front(), reader, &thinner,
                                        &transposer, changes));
    chunks->remove_prefix(1);
  }
  return Put(like, resolution, &transposer, changes);
}

absl::StatusOr<bool> Thinning::ThinChunk(const ReceivedChunk& chunk,
                                         ChunkGroupReader* reader,
                                         Thinner* thinner,
                                         Transposer* transposer,
                                         Changes* changes) {
  const auto stored = GetChunk(database_, chunk.key);
  if (absl::IsNotFound(stored.status())) {  // removed for its age
    Unlist(chunk, changes);
    return true;
  }
  const auto group = stored.ok() ? reader->Read(*stored)
                                 : absl::StatusOr<FrameGroup>(stored.status());
  if (absl::IsDataLoss(group.status())) {
    const std::string machine =
        numbers_.MachineOf(chunk.key.machine).value_or("?");
    LogErrorOf(machine, absl::StrCat("cannot thin a chunk of ", machine, ": ",
                                     group.status().message()));
    ListAs(Resolution::kHour, chunk, changes);
    return false;
  }
  RETURN_IF_ERROR(group.status());
  if (!group->empty()) {
    FrameGroup thinned = thinner->Thin(*group);
    if (IsTooLarge(thinned)) {
      ListAs(Resolution::kHour, chunk, changes);
      return false;
    }
    transposer->Add(std::move(thinned), chunk.key.order, stored->received);
  }
  DeleteChunk(*stored, changes);
  Unlist(chunk, changes);
  return true;
}

bool Thinning::Pays(const ReceivedChunk& chunk, Resolution resolution) const {
  return std::any_of(
      chunk.shapes.begin(), chunk.shapes.end(), [&](uint32_t number) {
        const auto shape = numbers_.ShapeOf(number);
        return !shape.ok() ||
               (*shape)->interval * kMinSamples <= IntervalOf(resolution);
      });
}

absl::Status Thinning::Put(const ChunkKey& like, Resolution resolution,
                           Transposer* transposer, Changes* changes) {
  for (const NewChunk& chunk : transposer->Finish()) {
    const ChunkKey key = {.machine = like.machine,
                          .resolution = resolution,
                          .hour = chunk.hour,
                          .epoch_number = like.epoch_number,
                          .order = chunk.order};
    RETURN_IF_ERROR(PutNewChunk(key, chunk, &numbers_, changes).status());
  }
  return absl::OkStatus();
}

// Pieces that begin with the last samples of thinned or unchanged chunks are
// counted with the chunks that follow.
absl::Status Thinning::FollowEpoch(const ReceivedChunk& first,
                                   Resolution resolution, Thinner* thinner) {
  // Thinned data includes these pieces already.
  if (first.key.resolution != Resolution::kFull) return absl::OkStatus();
  const uint32_t hours = HoursOfChunk(resolution);
  const uint32_t hour = first.key.hour;
  std::vector<StoredChunk> before;
  const auto on_damage = [](const absl::Status&) {};  // reported by readers
  const auto entry = database_.Iterate(Family::kChunks);
  for (const Resolution of : {Resolution::kFull, resolution}) {
    // A thinned chunk of a later hour may have other series, but no later
    // samples of the same series.
    const bool is_full = of == Resolution::kFull;
    RETURN_IF_ERROR(ForEachChunk(
        entry.get(), first.key.machine, of,
        hour - std::min(hour, is_full ? 1 : hours), hour,
        [&](StoredChunk chunk) {
          if (chunk.key.epoch_number == first.key.epoch_number &&
              (!is_full || chunk.key.order < first.key.order)) {
            before.push_back(std::move(chunk));
          }
          return absl::OkStatus();
        },
        on_damage));
  }
  std::sort(before.begin(), before.end(), [](const auto& a, const auto& b) {
    return a.key.order < b.key.order;
  });
  ChunkGroupReader reader(&database_, &numbers_);
  for (const StoredChunk& chunk : before) {
    const auto group = reader.ReadRawValues(chunk);
    if (group.ok()) thinner->Follow(*group);
  }
  return absl::OkStatus();
}

}  // namespace fleetperf::aggregator
