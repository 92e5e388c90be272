// Agents that are restarted again and again: what they send, cheaply.

#ifndef FLEETPERF_TESTS_SUPPORT_MANY_EPOCHS_H_
#define FLEETPERF_TESTS_SUPPORT_MANY_EPOCHS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "aggregator/store/store.h"

namespace fleetperf::testing {

struct ManyEpochs {
  int agents = 100;
  int instances = 1;  // of each agent
  // Otherwise each agent has one epoch for all that it sends.
  bool restarts = true;
};

// Each agent, `rounds` times: sends a batch with one tick four hours after
// the last and, with `restarts`, ends its epoch. After each round all is put
// into chunks. Rounds are numbered from `first_round` on.
absl::Status SendRounds(aggregator::Store* store, const ManyEpochs& load,
                        int first_round, int rounds);

std::string ManyEpochsMachine(int agent);

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_SUPPORT_MANY_EPOCHS_H_
