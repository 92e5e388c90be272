// What the agent of a workload's machine sends.

#ifndef FLEETPERF_TESTS_BENCH_WORKLOAD_AGENT_H_
#define FLEETPERF_TESTS_BENCH_WORKLOAD_AGENT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "fleetperf/v1/collection.pb.h"
#include "tests/bench/machine_workload.h"

namespace fleetperf::bench {

// One process of an agent, which collects everything at each tick.
// Thread-compatible.
class WorkloadAgent {
 public:
  explicit WorkloadAgent(std::unique_ptr<MachineWorkload> machine);

  const std::string& machine() const { return machine_->name(); }

  // The next ticks. The first batch defines what is used.
  v1::BatchContent NextBatch(int ticks);

  // How many samples were in the batches so far.
  uint64_t samples() const { return samples_; }

  // The time of the last tick, by the machine's clock.
  absl::Time last_tick() const { return last_; }

  // A tick of one instance, at the last one's minute of the next hour: with it,
  // a store sees that the hour before is complete.
  v1::BatchContent NextHour();

 private:
  void Define(v1::Definitions* definitions) const;
  void AddClocks(const std::vector<WorkloadTick>& ticks,
                 v1::BlockColumns* blocks);

  std::unique_ptr<MachineWorkload> machine_;
  absl::Time last_;
  uint64_t samples_ = 0;
  bool is_defined_ = false;
};

// The batch as it is sent, compressed.
v1::Batch PackBatch(const v1::BatchContent& content, uint64_t epoch,
                    uint64_t sequence);

}  // namespace fleetperf::bench

#endif  // FLEETPERF_TESTS_BENCH_WORKLOAD_AGENT_H_
