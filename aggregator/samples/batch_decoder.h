// Decodes the samples of a batch directly into columns.
//
// A batch is untrusted. Every count is checked against the bytes that hold it,
// and the decoded size stays within a small multiple of the batch's size: a
// column without changes is stored as one value per run.

#ifndef FLEETPERF_AGGREGATOR_SAMPLES_BATCH_DECODER_H_
#define FLEETPERF_AGGREGATOR_SAMPLES_BATCH_DECODER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "aggregator/samples/batch_contents.h"
#include "aggregator/samples/dictionary.h"
#include "aggregator/samples/frame.h"

namespace fleetperf::aggregator {

struct DecodedBatch {
  std::vector<Frame> frames;
  std::vector<Loss> losses;
  // The serialized v1::QueryColumns of each frame, in `content`.
  std::vector<absl::string_view> encoded;
  std::shared_ptr<const std::string> content;
};

// Returns the number of values in the frames.
uint64_t CountValues(const DecodedBatch& decoded);

// Returns the bytes of the batch in memory, about.
size_t MemoryOf(const DecodedBatch& decoded);

// Selects the queries that a reader wants. An empty function selects all.
using QueryFilter = std::function<bool(const CollectedQuery&)>;

// Decodes `contents`, whose definitions must have been applied to `dictionary`.
// Queries that `filter` rejects are skipped without decoding. Errors:
// InvalidArgument names the malformed part, FailedPrecondition an undefined id,
// ResourceExhausted an exceeded limit.
absl::StatusOr<DecodedBatch> DecodeBatch(const BatchContents& contents,
                                         const BatchLimits& limits,
                                         const QueryFilter& filter,
                                         Dictionary* dictionary);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SAMPLES_BATCH_DECODER_H_
