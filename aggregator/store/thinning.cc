#include "aggregator/store/thinning.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <string>
#include <utility>

#include "aggregator/store/keys.h"
#include "base/status_macros.h"

namespace fleetperf::aggregator {
namespace {

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
  // What fails is looked for again.
  const Unit unit = std::move(next_.back());
  next_.pop_back();
  RETURN_IF_ERROR(Thin(unit, resolution));
  return true;
}

absl::Status Thinning::Thin(const Unit& unit, Resolution resolution) {
  ChunkGroupReader reader(&database_, &numbers_);
  Changes changes(&database_);
  for (size_t i = 0; i < unit.size();) {
    const uint32_t epoch_number = unit[i].key.epoch_number;
    Thinner thinner(IntervalOf(resolution));
    RETURN_IF_ERROR(FollowEpoch(unit[i], resolution, &thinner));
    Transposer transposer(HoursOfChunk(resolution));
    for (; i < unit.size() && unit[i].key.epoch_number == epoch_number; ++i) {
      auto stored = GetChunk(database_, unit[i].key);
      absl::Status status = stored.status();
      if (status.ok()) {
        auto group = reader.Read(*stored);
        status = group.status();
        if (status.ok() && !group->empty()) {
          transposer.Add(thinner.Thin(*group), unit[i].key.order,
                         stored->received);
        }
      }
      if (status.ok()) {
        DeleteChunk(*stored, &changes);
        continue;
      }
      if (!absl::IsDataLoss(status) && !absl::IsNotFound(status)) return status;
      spdlog::error("a chunk of {} cannot be thinned: {}",
                    numbers_.MachineOf(unit[i].key.machine).value_or("?"),
                    std::string(status.message()));
      KeepResolution(unit[i], &changes);
    }
    for (NewChunk& chunk : transposer.Finish()) {
      const ChunkKey key = {.machine = unit[0].key.machine,
                            .resolution = resolution,
                            .hour = chunk.hour,
                            .epoch_number = epoch_number,
                            .order = chunk.order};
      RETURN_IF_ERROR(PutNewChunk(key, chunk, &numbers_, &changes).status());
    }
  }
  return database_.Write(&changes, Database::Durability::kProcess);
}

// The pieces that begin with the last samples of what is thinned already are
// counted with what comes next.
absl::Status Thinning::FollowEpoch(const ReceivedChunk& first,
                                   Resolution resolution, Thinner* thinner) {
  if (resolution != Resolution::kMinute) return absl::OkStatus();
  const uint32_t hours = HoursOfChunk(resolution);
  const uint32_t hour = first.key.hour;
  std::vector<StoredChunk> before;
  const auto on_damage = [](const absl::Status&) {};  // told by who reads it
  RETURN_IF_ERROR(ForEachChunk(
      database_.Iterate(Family::kChunks).get(), first.key.machine, resolution,
      hour - std::min(hour, hours), hour,
      [&](StoredChunk chunk) {
        if (chunk.key.epoch_number == first.key.epoch_number &&
            chunk.key.order < first.key.order) {
          before.push_back(std::move(chunk));
        }
        return absl::OkStatus();
      },
      on_damage));
  std::sort(before.begin(), before.end(), [](const auto& a, const auto& b) {
    return a.key.order < b.key.order;
  });
  ChunkGroupReader reader(&database_, &numbers_);
  for (const StoredChunk& chunk : before) {
    const auto group = reader.ReadLastTick(chunk);
    if (group.ok()) thinner->Follow(*group);
  }
  return absl::OkStatus();
}

}  // namespace fleetperf::aggregator
