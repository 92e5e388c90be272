// An agent process that collects the counterset "Disk" every second.

#ifndef FLEETPERF_TESTS_SUPPORT_DISK_AGENT_H_
#define FLEETPERF_TESTS_SUPPORT_DISK_AGENT_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/countersets.h"
#include "tests/support/raw_samples.h"
#include "tests/support/test_store.h"

namespace fleetperf::testing {

inline constexpr char kQueue[] = "\\Disk(*)\\Queue Length";

struct DiskAgent : TestAgent {
  explicit DiskAgent(TestStore* store, const std::string& machine = "web-1",
                     uint64_t epoch = 1)
      : TestAgent(store, machine, epoch),
        machine_id(Machine(machine)),
        disk(Counterset(DiskRegistration())),
        query(Query(machine_id, disk, absl::Seconds(1),
                    {{kTransfers}, {kQueueLength, 4}})) {}

  uint32_t Disk(const std::string& name, uint32_t id = 0,
                uint32_t occurrence = 0) {
    return Instance(machine_id, disk, name, id, occurrence);
  }
  // Adds the ticks from `first` to `last` seconds after kStart, for pairs of an
  // instance and its rate. Transfers grow by the rate per second; the queue
  // length equals the rate.
  void Ticks(int first, int last,
             const std::vector<std::pair<uint32_t, uint64_t>>& rates) {
    for (int t = first; t <= last; ++t) {
      std::vector<Row> rows;
      for (const auto& [instance, rate] : rates) {
        rows.push_back({instance, {static_cast<uint64_t>(t) * rate, rate}});
      }
      AddTick(query, ClocksAt(t), rows);
    }
  }

  const uint32_t machine_id, disk, query;
};

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_SUPPORT_DISK_AGENT_H_
