// Builds chunks: converts samples from tick order, batch by batch, to columns.

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
  // Appends `tick_count` ticks of the frames, starting at `first_tick`. The
  // frames must share their clocks and belong to one epoch, and every call must
  // pass the same queries in the same order. The builder keeps the frames
  // alive.
  void Add(absl::Span<const std::shared_ptr<const Frame>> frames,
           uint32_t first_tick, uint32_t tick_count);

  // An upper bound of the number of values.
  uint64_t values() const { return values_; }
  absl::Span<const perflib::Clocks> clocks() const { return clocks_; }

  // Encodes the chunk. `shape_of` returns the number that identifies a query's
  // shape to readers.
  EncodedChunk Finish(
      absl::FunctionRef<uint32_t(const CollectedQuery&)> shape_of) const;

 private:
  // A range of ticks of a frame.
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
