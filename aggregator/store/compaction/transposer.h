// Puts the ticks of frames, as they came, into chunks.

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

// The groups that a batch's frames make.
std::vector<FrameGroup> GroupFrames(std::vector<Frame> frames);

// A chunk in the making.
struct NewChunk {
  std::string machine;
  uint32_t hour = 0;
  uint64_t order = 0;                          // among those of the epoch
  absl::Time received = absl::InfinitePast();  // the last of it
  ChunkBuilder builder;
};

// The frames of one epoch. Samples of one series are in the order of their
// chunks, also if several queries have them.
// Thread-compatible.
class Transposer {
 public:
  // A chunk's ticks are of as many hours, of which the first is a multiple.
  explicit Transposer(uint32_t hours_of_chunk = 1) : hours_(hours_of_chunk) {}

  // The groups come in the order of their samples. The first chunk that begins
  // with this one gets `order`.
  void Add(FrameGroup group, uint64_t order, absl::Time received);

  // About how many values it holds.
  uint64_t values() const { return values_; }

  // All chunks, in their order.
  std::vector<NewChunk> Finish();

 private:
  struct Open {
    std::vector<const CollectedQuery*> queries;
    size_t chunk = 0;  // in chunks_
  };

  // The first hour of the chunk that a tick belongs to.
  uint32_t ChunkHourOf(const perflib::Clocks& clocks) const {
    const uint32_t hour = HourOf(clocks);
    return hour - hour % hours_;
  }
  NewChunk& ChunkFor(const FrameGroup& group, uint32_t hour);

  const uint32_t hours_;
  std::vector<NewChunk> chunks_;
  // Those to which ticks may be added.
  std::vector<Open> open_;
  uint64_t order_ = 0;
  uint64_t values_ = 0;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_COMPACTION_TRANSPOSER_H_
