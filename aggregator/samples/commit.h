// A batch as it is committed, and an epoch as the store knows it.

#ifndef FLEETPERF_AGGREGATOR_SAMPLES_COMMIT_H_
#define FLEETPERF_AGGREGATOR_SAMPLES_COMMIT_H_

#include <cstdint>
#include <memory>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "aggregator/samples/batch_decoder.h"
#include "aggregator/samples/dictionary.h"

namespace fleetperf::v1 {
class Batch;
class Definitions;
}  // namespace fleetperf::v1

namespace fleetperf::aggregator {

// What the store knows of an agent's epoch.
struct StoredEpoch {
  uint32_t number = 0;               // grows with each new epoch of any agent
  uint64_t durable_sequence = 0;     // 0: no batch yet
  uint64_t durable_fingerprint = 0;  // of that batch; 0: not known
  // Definitions that came with these batches are gone, or may be: the epoch had
  // ended, or a part of the store is lost.
  bool lacks_definitions = false;
  // The epoch is in use as long as somebody has it.
  std::unique_ptr<Dictionary> dictionary;
};

// Batches are numbered from 1 to this, so that there is room for numbers beside
// theirs in keys.
inline constexpr uint64_t kMaxSequence = (uint64_t{1} << 40) - 1;

// A batch to be kept. What it points at outlives the call.
struct BatchToCommit {
  uint32_t epoch_number = 0;
  uint64_t sequence = 0;
  absl::string_view agent;
  uint64_t fingerprint = 0;
  absl::Time received;
  // As it came. Null for a batch of which only its definitions and the losses
  // in `decoded` are kept.
  const v1::Batch* batch = nullptr;
  const v1::Definitions* definitions = nullptr;  // null: none
  const DecodedBatch* decoded = nullptr;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SAMPLES_COMMIT_H_
