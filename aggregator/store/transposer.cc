#include "aggregator/store/transposer.h"

#include <algorithm>
#include <utility>

namespace fleetperf::aggregator {
namespace {

constexpr int64_t kHour = int64_t{3600} * 10'000'000;  // in 100 ns
// Values of a chunk, about: what a reader of all of it has in memory at once.
constexpr uint64_t kMaxValues = uint64_t{8} << 20;

}  // namespace

uint32_t HourOf(const perflib::Clocks& clocks) {
  return static_cast<uint32_t>(std::max<int64_t>(clocks.perf_time_100nsec, 0) /
                               kHour);
}

uint32_t HourOf(absl::Time time) {
  return HourOf(perflib::Clocks{.perf_time_100nsec =
                                    perflib::PerfTime100NSecFromTime(time)});
}

absl::Time StartOfHour(uint32_t hour) {
  return perflib::TimeFromPerfTime100NSec(int64_t{hour} * kHour);
}

std::vector<FrameGroup> GroupFrames(std::vector<Frame> frames) {
  std::vector<FrameGroup> groups;
  for (Frame& frame : frames) {
    if (frame.clocks->empty()) continue;
    // Those of a machine are next to each other.
    const bool is_like_last =
        !groups.empty() && groups.back()[0]->clocks == frame.clocks &&
        groups.back()[0]->query->machine == frame.query->machine;
    if (!is_like_last) groups.emplace_back();
    groups.back().push_back(std::make_shared<const Frame>(std::move(frame)));
  }
  return groups;
}

void Transposer::Add(FrameGroup group, uint64_t order, absl::Time received) {
  order_ = std::max(order_, order);
  const std::vector<perflib::Clocks>& clocks = *group[0]->clocks;
  for (const auto& frame : group) {
    for (const FrameColumn& column : frame->columns) {
      values_ += column.values.size();
    }
  }
  for (size_t first = 0; first < clocks.size();) {
    const uint32_t hour = HourOf(clocks[first]);
    size_t end = first + 1;
    while (end < clocks.size() && HourOf(clocks[end]) == hour) ++end;
    Open& open = ChunkFor(group, hour);
    open.chunk.received = std::max(open.chunk.received, received);
    open.chunk.builder.Add(group, static_cast<uint32_t>(first),
                           static_cast<uint32_t>(end - first));
    first = end;
  }
}

// A query's ticks are in one chunk at a time, so that these stay in order.
Transposer::Open& Transposer::ChunkFor(const FrameGroup& group, uint32_t hour) {
  std::vector<const CollectedQuery*> queries;
  for (const auto& frame : group) queries.push_back(frame->query.get());
  for (const CollectedQuery* query : queries) {
    const auto found = open_.find(query);
    if (found == open_.end()) continue;
    Open& open = chunks_[found->second];
    if (open.queries != queries || open.chunk.hour != hour ||
        open.chunk.builder.values() > kMaxValues) {
      Close(found->second);
      continue;
    }
    return open;
  }
  for (const CollectedQuery* query : queries) open_[query] = chunks_.size();
  Open& open = chunks_.emplace_back();
  open.queries = std::move(queries);
  open.chunk.machine = group[0]->query->machine;
  open.chunk.hour = hour;
  open.chunk.order = order_++;
  return open;
}

void Transposer::Close(size_t number) {
  for (const CollectedQuery* query : chunks_[number].queries) {
    open_.erase(query);
  }
  chunks_[number].queries.clear();
}

std::vector<NewChunk> Transposer::Finish() {
  std::vector<NewChunk> chunks;
  for (Open& open : chunks_) chunks.push_back(std::move(open.chunk));
  chunks_.clear();
  open_.clear();
  values_ = 0;
  return chunks;
}

}  // namespace fleetperf::aggregator
