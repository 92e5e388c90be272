// The servers that fleetperf is compared with: those of Debian's packages
// victoria-metrics and prometheus, which `deploy/install-deps bench` unpacks.

#ifndef FLEETPERF_TESTS_BENCH_PEERS_H_
#define FLEETPERF_TESTS_BENCH_PEERS_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tests/bench/server.h"

namespace fleetperf::bench {

// NotFound if one of them is not there, with what to do.
absl::Status CheckPeers();

// Each starts a server with its defaults, but for limits that questions about
// everything need.
absl::StatusOr<std::unique_ptr<Server>> StartVictoriaMetrics();
absl::StatusOr<std::unique_ptr<Server>> StartPrometheus();

}  // namespace fleetperf::bench

#endif  // FLEETPERF_TESTS_BENCH_PEERS_H_
