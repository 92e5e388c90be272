// Fingerprints of batches whose samples are in chunks.

#ifndef FLEETPERF_AGGREGATOR_STORE_TABLES_FINGERPRINTS_H_
#define FLEETPERF_AGGREGATOR_STORE_TABLES_FINGERPRINTS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "aggregator/store/tables/database.h"
#include "aggregator/store/tables/log.h"

namespace fleetperf::aggregator {

// Stores the fingerprints of batches that leave the log, so that a batch is
// recognized if it arrives again under another epoch.
void PutFingerprints(uint32_t epoch_number,
                     const std::vector<LoggedBatch>& batches, Changes* changes);

// Returns the fingerprint of an epoch's batch that is in a chunk. std::nullopt
// if it is in none.
absl::StatusOr<std::optional<uint64_t>> FingerprintInChunk(
    const Database& database, uint32_t epoch_number, uint64_t sequence);
// Returns whether the epoch's batch with this fingerprint is in a chunk.
absl::StatusOr<bool> IsInChunk(const Database& database, uint32_t epoch_number,
                               uint64_t sequence, uint64_t fingerprint);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_TABLES_FINGERPRINTS_H_
