// Measures the cost of a fleet for a server: agents are connected and send at
// the pace of their machines.

#ifndef FLEETPERF_TESTS_BENCH_FLEET_COST_H_
#define FLEETPERF_TESTS_BENCH_FLEET_COST_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tests/bench/fleet_questions.h"
#include "tests/bench/fleetperf_process.h"
#include "tests/bench/machine_workload.h"

namespace fleetperf::bench {

struct FleetLoad {
  size_t ticks = 0;  // per machine, not counting first_ticks()
  int ticks_per_message = 0;
  // Returns the number of ticks in a machine's first message. They differ by
  // machine, so that later messages are spread evenly over time.
  size_t first_ticks(size_t machine) const {
    return 1 + machine % static_cast<size_t>(ticks_per_message);
  }
  size_t all_ticks(size_t machine) const {
    return first_ticks(machine) + ticks;
  }
  // Whether a subscriber watches a series of each machine during the run.
  bool is_watched = false;
  // The questions asked during the run and after it.
  std::optional<QuestionKind> questions;
};

// Durations are CPU time of the server's process unless noted. Memory is in
// bytes.
struct FleetCost {
  std::string server;
  size_t agents = 0;
  // Sent at the machines' pace.
  uint64_t samples = 0;
  uint64_t messages = 0;
  absl::Duration started;       // until first messages were acknowledged
  absl::Duration acknowledged;  // from then until all were acknowledged
  absl::Duration load;          // CPU time of the agents while they sent
  absl::Duration wall;  // wall time from first message to last acknowledgment
  // Resident memory: before agents connected, when all were connected, when
  // first messages were acknowledged, and when all were acknowledged.
  uint64_t memory_before = 0;
  uint64_t memory_connected = 0;
  uint64_t memory_defined = 0;
  uint64_t memory_after = 0;
  // Wall time from a message's due time to its acknowledgment, sorted.
  std::vector<absl::Duration> delays;
  absl::Duration latest;  // largest delay of the agents in sending a message
  // Wall time from taking a sample to its arrival at the subscriber, sorted.
  std::vector<absl::Duration> watched;
  uint64_t lagged = 0;  // values dropped because the subscriber was too slow
  // By question; empty without questions.
  std::vector<FleetQuestionCost> asked_during;
  std::vector<FleetQuestionCost> asked_after;
};

// `workload` has the largest FleetLoad::all_ticks of any machine.
absl::StatusOr<FleetCost> MeasureFleet(const std::string& name,
                                       const Workload& workload,
                                       const FleetLoad& load,
                                       const FleetperfProcess& server);

// Prints a table to standard output, with ratios to the first cost.
void PrintFleet(const std::vector<FleetCost>& costs);

}  // namespace fleetperf::bench

#endif  // FLEETPERF_TESTS_BENCH_FLEET_COST_H_
