// Writes samples to a store as if they had been received when they were taken.

#ifndef FLEETPERF_TESTS_BENCH_STORE_FEED_H_
#define FLEETPERF_TESTS_BENCH_STORE_FEED_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "tests/bench/machine_workload.h"

namespace fleetperf::bench {

// Creates a store in `directory`, which no process may have open, and compacts
// it as an aggregator would. Returns the number of samples.
//
// Retention and resolution depend on the time of receipt, and an aggregator
// uses the current time for samples sent to it. Hence this function bypasses
// the aggregator.
absl::StatusOr<uint64_t> FeedStore(const Workload& workload,
                                   int ticks_per_message,
                                   const std::string& directory);

}  // namespace fleetperf::bench

#endif  // FLEETPERF_TESTS_BENCH_STORE_FEED_H_
