// Converts frames, in order of arrival, to chunks.

#ifndef FLEETPERF_AGGREGATOR_STORE_COMPACTION_TRANSPOSER_H_
#define FLEETPERF_AGGREGATOR_STORE_COMPACTION_TRANSPOSER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "aggregator/samples/frame.h"
#include "aggregator/store/codec/chunk_builder.h"
#include "aggregator/store/tables/keys.h"

namespace fleetperf::aggregator {

// Frames of consecutive ticks of one machine, with the same clocks.
using FrameGroup = std::vector<std::shared_ptr<const Frame>>;

// Groups the frames of a batch.
std::vector<FrameGroup> GroupFrames(std::vector<Frame> frames);

// A chunk under construction.
struct NewChunk {
  std::string machine;
  uint32_t hour = 0;
  uint64_t order = 0;       // position among the chunks of the epoch
  uint64_t last_order = 0;  // that of its last group
  absl::Time received = absl::InfinitePast();  // of its newest batch
  ChunkBuilder builder;
};

// Converts the frames of one epoch. The samples of a series follow the order of
// the chunks, even if several queries collect the series.
// Thread-compatible.
class Transposer {
 public:
  // Each chunk spans `hours_of_chunk` hours. Its first hour is a multiple of
  // that.
  explicit Transposer(uint32_t hours_of_chunk = 1) : hours_(hours_of_chunk) {}

  // Adds a group. Groups must be added in the order of their samples. The first
  // chunk that begins with this group gets `order`, or a higher free one.
  void Add(FrameGroup group, uint64_t order, absl::Time received);

  // The approximate number of values held.
  uint64_t values() const { return values_; }

  // Returns all chunks in order.
  std::vector<NewChunk> Finish();

 private:
  struct Open {
    std::vector<const CollectedQuery*> queries;
    size_t chunk = 0;  // in chunks_
  };

  // Returns the first hour of the chunk that a tick belongs to.
  uint32_t ChunkHourOf(const perflib::Clocks& clocks) const {
    const uint32_t hour = HourOf(clocks);
    return hour - hour % hours_;
  }
  NewChunk& ChunkFor(const FrameGroup& group, uint32_t hour);

  const uint32_t hours_;
  std::vector<NewChunk> chunks_;
  // Chunks that can take more ticks.
  std::vector<Open> open_;
  uint64_t order_ = 0;
  uint64_t values_ = 0;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_COMPACTION_TRANSPOSER_H_
