#include "aggregator/store/chunk_reader.h"

#include <algorithm>
#include <functional>
#include <tuple>
#include <utility>

#include "absl/time/time.h"
#include "aggregator/samples/resolution.h"
#include "aggregator/store/codec/chunk.h"
#include "aggregator/store/read_range.h"
#include "aggregator/store/tables/chunk_table.h"
#include "aggregator/store/tables/keys.h"
#include "aggregator/store/tables/loss_table.h"
#include "base/status_macros.h"
#include "perflib/clocks.h"

namespace fleetperf::aggregator {
namespace {

// Whether ticks in order, of which these are the ends, may be in the range.
bool IsInRange(const std::vector<perflib::Clocks>& ends,
               const ReadableStore::ReadRequest& request) {
  return TimeOf(ends.front()) <= request.to &&
         TimeOf(ends.back()) >= request.from;
}

// Returns std::nullopt if the samples are needed.
absl::StatusOr<std::optional<Frame>> ReadFolded(
    const ReadableStore::ReadRequest& request, size_t section,
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

// The loss of all samples of these hours.
Loss DamagedHours(uint32_t first, uint32_t last) {
  return DamagedBetween(StartOfHour(first),
                        StartOfHour(last + 1) - absl::Nanoseconds(100));
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

}  // namespace

absl::StatusOr<ChunkReader::Chunks> ChunkReader::Find(
    uint32_t machine, std::optional<uint64_t> version,
    const ReadableStore::ReadRequest& request, const Snapshot& snapshot,
    OnLoss on_loss) {
  const uint32_t first_hour = HourOf(request.from);
  const uint32_t last_hour = HourOf(request.to);
  const bool is_current =
      version.has_value() && database_.versions().Of(machine) == version;
  std::shared_ptr<const MachineChunks> found;
  if (is_current) {
    found = cache_.Find(machine, first_hour, last_hour, *version);
  }
  const bool is_known = found != nullptr;
  if (!is_known) {
    bool is_damaged = false;
    ASSIGN_OR_RETURN(auto listed, List(machine, first_hour, last_hour, request,
                                       snapshot, &is_damaged));
    // Damage is reported each time.
    if (is_current && !is_damaged) {
      listed->version = *version;
      cache_.Put(machine, listed);
    }
    found = std::move(listed);
  }
  Chunks chunks;
  for (const auto& chunk : found->chunks) {
    const ChunkKey& key = chunk->stored().key;
    const uint32_t hours = HoursOfChunk(key.resolution);
    if (key.hour < first_hour - first_hour % hours || key.hour > last_hour) {
      continue;
    }
    // List has called it for the others.
    if (is_known && request.on_chunk) RETURN_IF_ERROR(request.on_chunk());
    chunks.push_back(chunk);
  }
  for (const Loss& loss : found->losses) {
    if (loss.end >= request.from && loss.start <= request.to) on_loss(loss);
  }
  return chunks;
}

absl::StatusOr<std::shared_ptr<MachineChunks>> ChunkReader::List(
    uint32_t machine, uint32_t first_hour, uint32_t last_hour,
    const ReadableStore::ReadRequest& request, const Snapshot& snapshot,
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
    LogSkipped(request.machine, damage);
    if (!damaged_from.has_value()) damaged_from = hour;
  };
  const auto entry = database_.Iterate(Family::kChunks, &snapshot);
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

absl::Status ChunkReader::Read(const HeldChunk& held,
                               const ReadableStore::ReadRequest& request,
                               const Snapshot& snapshot, Queries* queries,
                               OnFrame on_frame, OnLoss on_loss) {
  const absl::Status status =
      ReadFrames(held, request, snapshot, queries, on_frame);
  if (!absl::IsDataLoss(status)) return status;
  LogSkipped(request.machine, status);
  const ChunkKey& key = held.stored().key;
  on_loss(DamagedHours(key.hour, key.hour + HoursOfChunk(key.resolution) - 1));
  return absl::OkStatus();
}

absl::Status ChunkReader::ReadFrames(const HeldChunk& held,
                                     const ReadableStore::ReadRequest& request,
                                     const Snapshot& snapshot, Queries* queries,
                                     OnFrame on_frame) {
  ASSIGN_OR_RETURN(Chunk chunk,
                   held.Open(BodyOf(database_, &snapshot, held.stored())));
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

absl::StatusOr<std::shared_ptr<const CollectedQuery>> ChunkReader::QueryOf(
    uint32_t shape, const ReadableStore::ReadRequest& request,
    Queries* queries) const {
  const auto known = queries->find(shape);
  if (known != queries->end()) return known->second;
  ASSIGN_OR_RETURN(const auto of_any_machine, numbers_.ShapeOf(shape));
  std::shared_ptr<CollectedQuery> query;
  if (!request.filter || request.filter(*of_any_machine)) {
    query = std::make_shared<CollectedQuery>(*of_any_machine);
    query->machine = request.machine;
  }
  return (*queries)[shape] = std::move(query);
}

}  // namespace fleetperf::aggregator
