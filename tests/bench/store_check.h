// Whether a store holds the samples of a workload: all of them, once, in their
// order, and nothing else.

#ifndef FLEETPERF_TESTS_BENCH_STORE_CHECK_H_
#define FLEETPERF_TESTS_BENCH_STORE_CHECK_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "tests/bench/machine_workload.h"

namespace fleetperf::bench {

// Compares, for each series and for the times of each counterset, how many
// values there are, the first, the last, and a sum that depends on their order,
// with those of machines made anew; `ticks_of` says how many ticks each has.
// `directory` is of a store that no process has open. What is later than the
// workload's end is left out. Returns how many samples that are; DataLoss says
// what is different.
absl::StatusOr<uint64_t> CheckStore(
    const Workload& workload, const std::function<size_t(size_t)>& ticks_of,
    const std::string& directory);

}  // namespace fleetperf::bench

#endif  // FLEETPERF_TESTS_BENCH_STORE_CHECK_H_
