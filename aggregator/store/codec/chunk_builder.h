// Makes chunks: puts what came tick by tick, batch after batch, into columns.

#ifndef FLEETPERF_AGGREGATOR_STORE_CODEC_CHUNK_BUILDER_H_
#define FLEETPERF_AGGREGATOR_STORE_CODEC_CHUNK_BUILDER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "aggregator/samples/frame.h"

namespace fleetperf::aggregator {

struct EncodedChunk {
  std::string head;
  std::string body;
};

// Collects the ticks of a chunk. Thread-compatible.
class ChunkBuilder {
 public:
  // Adds `tick_count` ticks of the frames, from `first_tick` on. The frames
  // share their clocks, are of one epoch, and of the same queries in the same
  // order in each call. What they point at is kept.
  void Add(absl::Span<const std::shared_ptr<const Frame>> frames,
           uint32_t first_tick, uint32_t tick_count);

  // The number of values, or somewhat more.
  uint64_t values() const { return values_; }
  absl::Span<const perflib::Clocks> clocks() const { return clocks_; }

  // `shape_of` gives the number by which readers know a query's shape.
  EncodedChunk Finish(
      absl::FunctionRef<uint32_t(const CollectedQuery&)> shape_of) const;

 private:
  // Some ticks of a frame.
  struct Piece {
    std::shared_ptr<const Frame> frame;
    uint32_t first_tick = 0;  // in the frame
    uint32_t tick_count = 0;
    uint32_t begin = 0;  // in the chunk
  };
  using Section = std::vector<Piece>;

  std::vector<perflib::Clocks> clocks_;
  std::vector<Section> sections_;
  uint64_t values_ = 0;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_CODEC_CHUNK_BUILDER_H_
