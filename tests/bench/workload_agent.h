// The batches of an agent that collects a workload's machine.

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

// One process of an agent that collects all counters at each tick.
// Thread-compatible.
class WorkloadAgent {
 public:
  explicit WorkloadAgent(std::unique_ptr<MachineWorkload> machine);

  const std::string& machine() const { return machine_->name(); }

  // Returns a batch with the next ticks. The first batch has the definitions.
  v1::BatchContent NextBatch(int ticks);

  // The number of samples in the batches so far.
  uint64_t samples() const { return samples_; }

  // The time of the last tick, by the machine's clock.
  absl::Time last_tick() const { return last_; }

  // Returns a batch with a tick of one instance, exactly one hour after the
  // last tick. It shows a store that the previous hour is complete.
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

// Compresses a batch for sending.
v1::Batch PackBatch(const v1::BatchContent& content, uint64_t epoch,
                    uint64_t sequence);

}  // namespace fleetperf::bench

#endif  // FLEETPERF_TESTS_BENCH_WORKLOAD_AGENT_H_
