// Reads whole chunks, to find damage.

#ifndef FLEETPERF_AGGREGATOR_STORE_BACKUP_CHUNK_CHECK_H_
#define FLEETPERF_AGGREGATOR_STORE_BACKUP_CHUNK_CHECK_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "aggregator/store/tables/chunk_table.h"
#include "aggregator/store/tables/database.h"
#include "aggregator/store/tables/key_numbers.h"

namespace fleetperf::aggregator {

// Returns the number of values in a chunk. Returns NotFound or DataLoss if a
// part of it cannot be read.
absl::StatusOr<uint64_t> CountValues(const Database& database,
                                     const KeyNumbers& numbers,
                                     const StoredChunk& stored);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_BACKUP_CHUNK_CHECK_H_
