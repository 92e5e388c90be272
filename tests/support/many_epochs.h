// A cheap workload of agents that restart again and again.

#ifndef FLEETPERF_TESTS_SUPPORT_MANY_EPOCHS_H_
#define FLEETPERF_TESTS_SUPPORT_MANY_EPOCHS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "aggregator/store/store.h"

namespace fleetperf::testing {

struct ManyEpochs {
  int agents = 100;
  int instances = 1;  // per agent
  // If false, each agent sends all rounds in one epoch.
  bool restarts = true;
};

// Sends `rounds` rounds, numbered from `first_round`. In a round, each agent
// sends a batch with one tick, four hours after the previous round's tick. With
// `restarts`, each round begins a new epoch of each agent. After each round,
// all batches are moved into chunks.
absl::Status SendRounds(aggregator::Store* store, const ManyEpochs& load,
                        int first_round, int rounds);

std::string ManyEpochsMachine(int agent);

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_SUPPORT_MANY_EPOCHS_H_
