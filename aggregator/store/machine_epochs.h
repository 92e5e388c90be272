// The epochs that may have samples of a machine.

#ifndef FLEETPERF_AGGREGATOR_STORE_MACHINE_EPOCHS_H_
#define FLEETPERF_AGGREGATOR_STORE_MACHINE_EPOCHS_H_

#include <cstdint>
#include <map>
#include <string>

#include "aggregator/samples/machine_name.h"
#include "aggregator/store/store.h"

namespace fleetperf::aggregator {

// Returns the epochs of the machine's present agent, by the store's number, and
// those of the aggregator's own counters, which have an agent of their own.
inline std::map<uint32_t, uint64_t> EpochsOfMachine(
    const Store& store, const std::string& machine) {
  const std::string agent = store.directory().AgentOf(machine);
  // An unknown agent is that of the machine itself.
  auto epochs = store.EpochsOf(agent.empty() ? machine : agent);
  epochs.merge(store.EpochsOf(OwnAgentName(machine)));
  return epochs;
}

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_MACHINE_EPOCHS_H_
