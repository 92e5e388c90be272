// Looks through a store for damage.

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
  // What is damaged, each with the file or machine that it is in.
  std::vector<std::string> damage;
};

// Compares the files of the store in `directory` with their checksums,
// RocksDB's write-ahead log among them, and reads every chunk and every batch
// of the log. Changes nothing. `progress` is told how many of the files are
// done, from 0 to 1. An error if the store cannot be opened at all.
absl::StatusOr<StoreReport> VerifyStore(
    const std::string& directory,
    const std::function<void(double done)>& progress);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_BACKUP_VERIFY_H_
