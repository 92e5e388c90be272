// An agent that collects one counter of one disk of its own machine.

#ifndef FLEETPERF_TESTS_SUPPORT_ONE_DISK_AGENT_H_
#define FLEETPERF_TESTS_SUPPORT_ONE_DISK_AGENT_H_

#include <cstdint>
#include <string>

#include "tests/support/countersets.h"
#include "tests/support/raw_samples.h"
#include "tests/support/test_store.h"

namespace fleetperf::testing {

struct OneDiskAgent : TestAgent {
  OneDiskAgent(TestStore* store, const std::string& machine, uint64_t epoch = 1)
      : TestAgent(store, machine, epoch),
        machine_id(Machine(machine)),
        disk(Counterset(DiskRegistration())),
        query(Query(machine_id, disk, absl::Seconds(1), {{kTransfers}})),
        c(Instance(machine_id, disk, "C:")) {}

  void Tick(double seconds, uint64_t value) {
    AddTick(query, ClocksAt(seconds), {{c, {value}}});
  }

  const uint32_t machine_id, disk, query, c;
};

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_SUPPORT_ONE_DISK_AGENT_H_
