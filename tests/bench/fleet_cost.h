// What it costs a server that a fleet's agents are connected and send at the
// machines' own pace.

#ifndef FLEETPERF_TESTS_BENCH_FLEET_COST_H_
#define FLEETPERF_TESTS_BENCH_FLEET_COST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tests/bench/fleetperf_process.h"
#include "tests/bench/machine_workload.h"

namespace fleetperf::bench {

struct FleetLoad {
  size_t ticks = 0;  // of each machine, in messages of so many:
  int ticks_per_message = 0;
  // Of those before, so that messages come at evenly spread times.
  size_t first_ticks(size_t machine) const {
    return 1 + machine % static_cast<size_t>(ticks_per_message);
  }
  size_t all_ticks(size_t machine) const {
    return first_ticks(machine) + ticks;
  }
  // Whether somebody watches a series of each machine meanwhile.
  bool is_watched = false;
};

// Times are CPU of the server's process, if nothing else is said.
struct FleetCost {
  std::string server;
  size_t agents = 0;
  // What was sent at the machines' pace.
  uint64_t samples = 0;
  uint64_t messages = 0;
  absl::Duration started;         // until agents are connected and have defined
  absl::Duration acknowledged;    // from then on, until all was acknowledged
  absl::Duration load;            // of the agents, while they sent
  absl::Duration wall;            // time from the first message to the last ack
  uint64_t memory_before = 0;     // resident, before agents connected,
  uint64_t memory_connected = 0;  // when they were,
  uint64_t memory_defined = 0;    // when what they have was defined,
  uint64_t memory_after = 0;      // and when all was acknowledged
  // From when a message was due until it was acknowledged, sorted.
  std::vector<absl::Duration> delays;
  absl::Duration latest;  // how late the load was at most
  // From when a sample was taken until the subscriber had it, sorted.
  std::vector<absl::Duration> watched;
  uint64_t lagged = 0;  // values that it was too slow for
};

// `workload` has as many ticks as FleetLoad::all_ticks says at most.
absl::StatusOr<FleetCost> MeasureFleet(const std::string& name,
                                       const Workload& workload,
                                       const FleetLoad& load,
                                       const FleetperfProcess& server);

// Prints to standard output, with ratios to the first.
void PrintFleet(const std::vector<FleetCost>& costs);

}  // namespace fleetperf::bench

#endif  // FLEETPERF_TESTS_BENCH_FLEET_COST_H_
