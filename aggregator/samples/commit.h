// The types that ingest and the store exchange: batches to commit, and epochs.

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

// The state of an agent's epoch in the store.
struct StoredEpoch {
  uint32_t number = 0;            // increases with each new epoch of any agent
  bool is_new = false;            // the store did not know it before
  uint64_t durable_sequence = 0;  // 0: no batch yet
  uint64_t durable_fingerprint = 0;  // of that batch; 0: unknown
  // Definitions that came with these batches are missing or may be missing: the
  // epoch had ended, or a part of the store was lost.
  bool lacks_definitions = false;
  // The epoch is in use while the dictionary exists.
  std::unique_ptr<Dictionary> dictionary;
};

// Batches are numbered from 1 to this number. The limit leaves bits for other
// numbers in keys.
inline constexpr uint64_t kMaxSequence = (uint64_t{1} << 40) - 1;

// A batch to commit. All referenced data must outlive the call.
struct BatchToCommit {
  uint32_t epoch_number = 0;
  uint64_t sequence = 0;
  absl::string_view agent;
  uint64_t fingerprint = 0;
  absl::Time received;
  // The batch as received. Null if only the definitions and the losses in
  // `decoded` are stored.
  const v1::Batch* batch = nullptr;
  const v1::Definitions* definitions = nullptr;  // null: none
  const DecodedBatch* decoded = nullptr;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SAMPLES_COMMIT_H_
