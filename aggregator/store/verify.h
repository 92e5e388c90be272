// Looks through a store for damage.

#ifndef FLEETPERF_AGGREGATOR_STORE_VERIFY_H_
#define FLEETPERF_AGGREGATOR_STORE_VERIFY_H_

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

// Reads every byte of the store in `directory` and changes nothing. `progress`
// is told how much of it is done, from 0 to 1. An error if it cannot be opened
// at all.
absl::StatusOr<StoreReport> VerifyStore(
    const std::string& directory,
    const std::function<void(double done)>& progress);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_VERIFY_H_
