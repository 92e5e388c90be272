#include "aggregator/store/compaction/transposer.h"

#include <algorithm>
#include <utility>

#include "aggregator/store/tables/keys.h"

namespace fleetperf::aggregator {
namespace {

// The approximate maximum number of values in a chunk, which limits the memory
// of a reader of all of the chunk.
constexpr uint64_t kMaxChunkValues = uint64_t{8} << 20;

}  // namespace

std::vector<FrameGroup> GroupFrames(std::vector<Frame> frames) {
  std::vector<FrameGroup> groups;
  for (Frame& frame : frames) {
    if (frame.clocks->empty()) continue;
    // The frames of a machine are adjacent.
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
    const uint32_t hour = ChunkHourOf(clocks[first]);
    size_t end = first + 1;
    while (end < clocks.size() && ChunkHourOf(clocks[end]) == hour) ++end;
    NewChunk& chunk = ChunkFor(group, hour);
    chunk.received = std::max(chunk.received, received);
    chunk.last_order = order;
    chunk.builder.Add(group, static_cast<uint32_t>(first),
                      static_cast<uint32_t>(end - first));
    first = end;
  }
}

// A series is written to one chunk at a time, so its samples stay in order.
NewChunk& Transposer::ChunkFor(const FrameGroup& group, uint32_t hour) {
  std::vector<const CollectedQuery*> queries;
  for (const auto& frame : group) queries.push_back(frame->query.get());
  for (const Open& open : open_) {
    NewChunk& chunk = chunks_[open.chunk];
    if (open.queries == queries && chunk.hour == hour &&
        chunk.builder.values() <= kMaxChunkValues) {
      return chunk;
    }
  }
  std::erase_if(open_, [&](const Open& open) {
    return std::any_of(
        open.queries.begin(), open.queries.end(), [&](const auto* one) {
          return std::any_of(
              queries.begin(), queries.end(),
              [&](const auto* other) { return ShareSeries(*one, *other); });
        });
  });
  open_.push_back({std::move(queries), chunks_.size()});
  NewChunk& chunk = chunks_.emplace_back();
  chunk.machine = group[0]->query->machine;
  chunk.hour = hour;
  chunk.order = order_++;
  return chunk;
}

std::vector<NewChunk> Transposer::Finish() {
  open_.clear();
  values_ = 0;
  return std::exchange(chunks_, {});
}

}  // namespace fleetperf::aggregator
