// Reads a batch as it came over the wire, or out of the store's log.
//
// A batch is untrusted. Every count is compared with what is there to hold it,
// and what is decoded stays within a small multiple of the batch's size: a
// column in which nothing changes is kept as one value per run.

#ifndef FLEETPERF_AGGREGATOR_STORE_BATCH_DECODER_H_
#define FLEETPERF_AGGREGATOR_STORE_BATCH_DECODER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "aggregator/store/dictionary.h"
#include "aggregator/store/frame.h"

namespace fleetperf::v1 {
class Batch;
class BatchContent;
}  // namespace fleetperf::v1

namespace fleetperf::aggregator {

struct BatchLimits {
  uint32_t max_payload_bytes = 4 << 20;
  uint32_t max_content_bytes = 16 << 20;
  // Values of one batch, those of constant columns counted for each tick.
  uint64_t max_values = 20'000'000;
  // Runs of blocks in which an instance was there, in one batch.
  uint64_t max_runs = 1'000'000;
};

// The contents after decompression, parsed but not checked.
absl::StatusOr<std::shared_ptr<v1::BatchContent>> ParseBatch(
    const v1::Batch& batch, const BatchLimits& limits);

struct DecodedBatch {
  std::vector<Frame> frames;
  std::vector<Loss> losses;
};

// Which queries and columns a reader wants. An empty function wants all.
using QueryFilter = std::function<bool(const CollectedQuery&)>;

// Resolves `content`, whose definitions have been applied to `dictionary`.
// Frames that `filter` refuses are left out unread. InvalidArgument errors say
// what is malformed; FailedPrecondition that an id is not defined.
absl::StatusOr<DecodedBatch> DecodeBatch(const v1::BatchContent& content,
                                         const BatchLimits& limits,
                                         const QueryFilter& filter,
                                         Dictionary* dictionary);

// What a batch tells was lost, whatever else is in it.
std::vector<Loss> DecodeLosses(const v1::BatchContent& content);

// A serialized BatchContent that tells of nothing but these.
std::string EncodeLosses(const std::vector<Loss>& losses);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_BATCH_DECODER_H_
