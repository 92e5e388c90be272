// Deletes data that was received first, by the index of received_index.h: what
// is older than the retention time, and what exceeds the size of the store or
// the share of a machine. Deleting removes the index entry even if its chunk
// cannot be read.

#ifndef FLEETPERF_AGGREGATOR_STORE_TABLES_RECEIVED_REMOVAL_H_
#define FLEETPERF_AGGREGATOR_STORE_TABLES_RECEIVED_REMOVAL_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "aggregator/store/tables/database.h"

namespace fleetperf::aggregator {

// Deletes up to `max` chunks, losses and fingerprints that were received in
// hours before that of `time`, oldest first. Adds the epochs of the
// fingerprints to `epochs`. Returns false if there are none.
absl::StatusOr<bool> DeleteReceivedBefore(const Database& database,
                                          absl::Time time, size_t max,
                                          Changes* changes,
                                          std::vector<uint32_t>* epochs);

// What was deleted to free space.
struct Removal {
  uint64_t bytes = 0;  // approximately
  uint64_t chunks = 0;
  // The hours of receipt of the first and the last chunk.
  uint32_t first_hour = UINT32_MAX;
  uint32_t last_hour = 0;

  void Add(const Removal& other);
};

// Deletes data received in the oldest hour, and writes the deletions: chunks
// with the oldest samples first, until `max` bytes are deleted or none is left,
// and then losses and fingerprints. Adds the epochs of these fingerprints to
// `epochs`. Removal::bytes is 0 if there was nothing to delete.
absl::StatusOr<Removal> DeleteFirstReceived(Database* database, uint64_t max,
                                            std::vector<uint32_t>* epochs);

// Deletes chunks of machines, first those received first, and writes the
// deletions. `excess` has, by machine, the bytes to delete, which machines of
// one agent share and which are counted down. Stops when they are 0, or when
// `max` bytes are deleted.
absl::StatusOr<Removal> DeleteExcess(
    Database* database, const std::map<uint32_t, uint64_t*>& excess,
    uint64_t max);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_TABLES_RECEIVED_REMOVAL_H_
