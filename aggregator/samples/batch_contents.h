// Parses a batch from the wire or from the store's log: everything but its
// samples, which batch_decoder.h reads.

#ifndef FLEETPERF_AGGREGATOR_SAMPLES_BATCH_CONTENTS_H_
#define FLEETPERF_AGGREGATOR_SAMPLES_BATCH_CONTENTS_H_

#include <cstdint>
#include <memory>
#include <optional>
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
  // Values of one batch, which take eight bytes each. Constant columns count
  // one value per tick. Agents end a batch after the tick with its 250,000th
  // value.
  uint64_t max_values = 4'000'000;
  // Runs of one batch: ranges of blocks that have an instance.
  uint64_t max_runs = 1'000'000;
  // Losses of one batch. Agents combine losses by machine and cause. An empty
  // loss takes two bytes in a batch and forty times as much here.
  size_t max_losses = 100'000;
  // An empty element of one of these takes two bytes in a batch as well, which
  // compress to almost nothing. Definitions include the columns of queries and
  // the counters of countersets; columns include failures.
  size_t max_definitions = 250'000;
  size_t max_blocks = 100'000;
  size_t max_queries = 100'000;
  size_t max_columns = 1'000'000;
  size_t max_retired = 1'000'000;

  // Of batches that were within the limits when they arrived.
  static BatchLimits None();
};

// The elements of a batch, as BatchLimits count them.
struct BatchCounts {
  size_t definitions = 0;
  size_t blocks = 0;
  size_t queries = 0;
  size_t columns = 0;
  size_t retired = 0;
  size_t losses = 0;
};

// Counts the elements of a serialized v1::Definitions without parsing it.
// Returns nullopt if it cannot be read.
std::optional<size_t> CountDefinitions(absl::string_view definitions);

// A v1::BatchContent.
struct BatchContents {
  std::shared_ptr<v1::Definitions> definitions;  // null: none
  // Serialized v1::BlockColumns, not parsed yet.
  std::vector<absl::string_view> blocks;
  std::vector<uint32_t> retired_instances;
  std::vector<Loss> losses;
  BatchCounts counts;
  // Owns the bytes that `blocks` refer to, unless they are in the parsed input.
  std::shared_ptr<const std::string> decompressed;
};

// Parses a batch, which must outlive the contents. Counts its elements before
// it makes anything of them. Errors: InvalidArgument if it cannot be read,
// ResourceExhausted if it exceeds a limit. The message names the limit.
absl::StatusOr<BatchContents> ParseBatch(const v1::Batch& batch,
                                         const BatchLimits& limits);

// Parses a serialized v1::BatchContent from the store. Nothing is limited: it
// was within the limits on arrival, but a rejected batch has one more loss, and
// losses of several batches are stored together.
absl::StatusOr<BatchContents> ParseContents(absl::string_view bytes);

// Serializes a v1::BatchContent that has only these losses.
std::string EncodeLosses(const std::vector<Loss>& losses);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SAMPLES_BATCH_CONTENTS_H_
