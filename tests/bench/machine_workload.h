// Simulated machines whose counters a benchmark collects: their countersets and
// the values of each tick.

#ifndef FLEETPERF_TESTS_BENCH_MACHINE_WORKLOAD_H_
#define FLEETPERF_TESTS_BENCH_MACHINE_WORKLOAD_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace fleetperf::bench {

struct WorkloadCounterset {
  std::string name;
  uint32_t type = 0;     // of all its counters, as in winperf.h
  bool is_real = false;  // whether values are the bits of doubles
  std::vector<std::string> counters;
  std::vector<std::string> instances;  // {""} for a single-instance counterset
};

// The values of a machine at one time, ordered by counterset, instance and
// counter. A value is std::nullopt if the instance, or its counter, does not
// exist at that time.
struct WorkloadTick {
  absl::Time time;
  std::vector<std::optional<uint64_t>> values;
};

// Thread-compatible.
class MachineWorkload {
 public:
  virtual ~MachineWorkload() = default;

  virtual const std::string& name() const = 0;
  virtual const std::vector<WorkloadCounterset>& countersets() const = 0;
  // The time between ticks.
  virtual absl::Duration interval() const = 0;

  // Returns the next tick. Valid until the next call.
  virtual const WorkloadTick& Tick() = 0;
};

// All machines of a run. `make_machine` returns the machine of an index, which
// yields the same ticks every time, so that every server gets the same samples.
struct Workload {
  std::string name;
  size_t machines = 0;
  size_t ticks = 0;
  absl::Time start;  // earlier than all ticks
  absl::Duration interval = absl::Seconds(1);
  std::function<std::unique_ptr<MachineWorkload>(size_t)> make_machine;

  // The time of the last tick or later.
  absl::Time end() const {
    return start + static_cast<int64_t>(ticks) * interval;
  }
};

}  // namespace fleetperf::bench

#endif  // FLEETPERF_TESTS_BENCH_MACHINE_WORKLOAD_H_
