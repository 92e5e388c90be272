// The servers that fleetperf is compared with, from Debian's packages
// victoria-metrics and prometheus. `deploy/install-deps bench` unpacks them.

#ifndef FLEETPERF_TESTS_BENCH_PEERS_H_
#define FLEETPERF_TESTS_BENCH_PEERS_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tests/bench/server.h"

namespace fleetperf::bench {

// Checks that the servers are installed. NotFound otherwise; the message tells
// how to install them.
absl::Status CheckPeers();

// Start a server with default settings, except for limits that queries over all
// series would exceed.
absl::StatusOr<std::unique_ptr<Server>> StartVictoriaMetrics();
absl::StatusOr<std::unique_ptr<Server>> StartPrometheus();

}  // namespace fleetperf::bench

#endif  // FLEETPERF_TESTS_BENCH_PEERS_H_
