// Verifies that a store holds exactly the samples of a workload: each once, in
// order, and no others.

#ifndef FLEETPERF_TESTS_BENCH_STORE_CHECK_H_
#define FLEETPERF_TESTS_BENCH_STORE_CHECK_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "tests/bench/machine_workload.h"

namespace fleetperf::bench {

// Compares the store in `directory`, which no process may have open, with newly
// made machines. `ticks_of` returns the number of ticks of a machine. For each
// series and for the times of each counterset, compares the number of values,
// the first, the last, and an order-dependent sum. Ignores samples later than
// the workload's end. Returns the number of samples; DataLoss names the first
// difference.
absl::StatusOr<uint64_t> CheckStore(
    const Workload& workload, const std::function<size_t(size_t)>& ticks_of,
    const std::string& directory);

}  // namespace fleetperf::bench

#endif  // FLEETPERF_TESTS_BENCH_STORE_CHECK_H_
