// Checks a store for damage.

#ifndef FLEETPERF_AGGREGATOR_STORE_BACKUP_VERIFY_H_
#define FLEETPERF_AGGREGATOR_STORE_BACKUP_VERIFY_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace fleetperf::aggregator {

struct StoreReport {
  uint64_t files = 0;
  uint64_t machines = 0;
  uint64_t chunks = 0;
  uint64_t values = 0;   // in chunks
  uint64_t batches = 0;  // in the log
  // Descriptions of damage, each with the file or machine concerned.
  std::vector<std::string> damage;
};

// Compares the files of the store in `directory`, including RocksDB's
// write-ahead log, with their checksums, and reads every chunk and every batch
// of the log. Changes nothing, and needs no right to write. `progress` is
// called with the checked fraction of the files, from 0 to 1. Returns an error
// if the store cannot be opened.
absl::StatusOr<StoreReport> VerifyStore(
    const std::string& directory,
    const std::function<void(double done)>& progress);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_BACKUP_VERIFY_H_
