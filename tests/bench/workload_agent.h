// What the agent of a workload's machine sends.

#ifndef FLEETPERF_TESTS_BENCH_WORKLOAD_AGENT_H_
#define FLEETPERF_TESTS_BENCH_WORKLOAD_AGENT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "fleetperf/v1/collection.pb.h"
#include "tests/bench/fleet_workload.h"

namespace fleetperf::bench {

// One process of an agent, which collects everything once a second.
class WorkloadAgent {
 public:
  WorkloadAgent(const FleetWorkload& workload, std::string machine,
                uint64_t seed, absl::Time start);

  const std::string& machine() const { return machine_; }

  // The next ticks. The first batch defines what is used.
  v1::BatchContent NextBatch(int ticks);

 private:
  void Define(v1::Definitions* definitions) const;
  void AddClocks(int ticks, v1::BlockColumns* blocks);

  const FleetWorkload& workload_;
  const std::string machine_;
  WorkloadMachine values_;
  std::mt19937_64 random_;  // of when ticks are taken
  absl::Time time_;
  bool is_defined_ = false;
};

}  // namespace fleetperf::bench

#endif  // FLEETPERF_TESTS_BENCH_WORKLOAD_AGENT_H_
