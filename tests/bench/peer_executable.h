// The programs of other projects that deploy/install-deps unpacks.

#ifndef FLEETPERF_TESTS_BENCH_PEER_EXECUTABLE_H_
#define FLEETPERF_TESTS_BENCH_PEER_EXECUTABLE_H_

#include <string>

#include "absl/status/statusor.h"

namespace fleetperf::bench {

// Returns the path of the program that has its package's name. NotFound if it
// is missing; the message tells how to install it.
absl::StatusOr<std::string> PeerExecutable(const std::string& package);

}  // namespace fleetperf::bench

#endif  // FLEETPERF_TESTS_BENCH_PEER_EXECUTABLE_H_
