// Reads the samples of a batch straight into columns.
//
// A batch is untrusted. Every count is compared with what is there to hold it,
// and what is decoded stays within a small multiple of the batch's size: a
// column in which nothing changes is kept as one value per run.

#ifndef FLEETPERF_AGGREGATOR_SAMPLES_BATCH_DECODER_H_
#define FLEETPERF_AGGREGATOR_SAMPLES_BATCH_DECODER_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "aggregator/samples/batch_contents.h"
#include "aggregator/samples/dictionary.h"
#include "aggregator/samples/frame.h"

namespace fleetperf::aggregator {

struct DecodedBatch {
  std::vector<Frame> frames;
  std::vector<Loss> losses;
};

// Which queries and columns a reader wants. An empty function wants all.
using QueryFilter = std::function<bool(const CollectedQuery&)>;

// Resolves `contents`, whose definitions have been applied to `dictionary`.
// Frames that `filter` refuses are left out unread. InvalidArgument errors say
// what is malformed; FailedPrecondition that an id is not defined.
absl::StatusOr<DecodedBatch> DecodeBatch(const BatchContents& contents,
                                         const BatchLimits& limits,
                                         const QueryFilter& filter,
                                         Dictionary* dictionary);

// The ticks of a batch, by their clocks and as far as those can be read.
struct TickSpan {
  uint64_t ticks = 0;
  absl::Time start = absl::InfiniteFuture();
  absl::Time end = absl::InfinitePast();
};
TickSpan ReadTickSpan(const BatchContents& contents);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SAMPLES_BATCH_DECODER_H_
