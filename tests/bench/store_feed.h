// Puts samples into a store as if they had come when they were taken.

#ifndef FLEETPERF_TESTS_BENCH_STORE_FEED_H_
#define FLEETPERF_TESTS_BENCH_STORE_FEED_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "tests/bench/machine_workload.h"

namespace fleetperf::bench {

// Makes the store in `directory`, which no process may have open, and keeps it
// in shape meanwhile, as an aggregator would have. Returns how many samples
// there are. What an aggregator is sent it takes for received now; how long
// samples are kept, and how exactly, goes by when they were received.
absl::StatusOr<uint64_t> FeedStore(const Workload& workload,
                                   int ticks_per_message,
                                   const std::string& directory);

}  // namespace fleetperf::bench

#endif  // FLEETPERF_TESTS_BENCH_STORE_FEED_H_
