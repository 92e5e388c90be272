// Opens a batch as it came over the wire, or out of the store's log: all that
// it has but its samples, which batch_decoder.h reads.

#ifndef FLEETPERF_AGGREGATOR_SAMPLES_BATCH_CONTENTS_H_
#define FLEETPERF_AGGREGATOR_SAMPLES_BATCH_CONTENTS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "aggregator/samples/frame.h"

namespace fleetperf::v1 {
class Batch;
class Definitions;
}  // namespace fleetperf::v1

namespace fleetperf::aggregator {

struct BatchLimits {
  uint32_t max_payload_bytes = 4 << 20;
  uint32_t max_content_bytes = 16 << 20;
  // Values of one batch, those of constant columns counted for each tick.
  uint64_t max_values = 20'000'000;
  // Runs of blocks in which an instance was there, in one batch.
  uint64_t max_runs = 1'000'000;
  // An agent adds up what was lost, by machine and cause. An empty loss takes
  // two bytes in a batch and forty times as much here.
  size_t max_losses = 100'000;
};

// A v1::BatchContent.
struct BatchContents {
  std::shared_ptr<v1::Definitions> definitions;  // null: none
  // Serialized v1::BlockColumns, which are not looked into.
  std::vector<absl::string_view> blocks;
  std::vector<uint32_t> retired_instances;
  std::vector<Loss> losses;
  // Where `blocks` are, if not in what was parsed.
  std::shared_ptr<const std::string> decompressed;
};

// The contents of a batch, which outlives them. InvalidArgument: it cannot be
// read; ResourceExhausted: a limit, which is named, is broken.
absl::StatusOr<BatchContents> ParseBatch(const v1::Batch& batch,
                                         const BatchLimits& limits);

// The same of a serialized v1::BatchContent that the store keeps. A limit on
// losses held when they came; a batch that was rejected has one more, and those
// of several batches are kept together.
absl::StatusOr<BatchContents> ParseContents(absl::string_view bytes);

// A serialized v1::BatchContent that tells of nothing but these.
std::string EncodeLosses(const std::vector<Loss>& losses);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SAMPLES_BATCH_CONTENTS_H_
