// Machines whose counters a benchmark collects: what they have, and what each
// tick finds.

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
  uint32_t type = 0;     // of its counters, as in winperf.h
  bool is_real = false;  // its values are the bits of doubles
  std::vector<std::string> counters;
  std::vector<std::string> instances;  // one without a name: it has none
};

// What a machine has at a moment, by counterset, instance and counter; nothing
// where there is no such instance then, or not this counter of it.
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

  // The next tick. Valid until the one after it.
  virtual const WorkloadTick& Tick() = 0;
};

// All machines of a run. Each call of `make_machine` gives the same machine
// from its start, so that every server gets the same samples.
struct Workload {
  std::string name;
  size_t machines = 0;
  size_t ticks = 0;
  absl::Time start;  // all ticks are after it
  absl::Duration interval = absl::Seconds(1);
  std::function<std::unique_ptr<MachineWorkload>(size_t)> make_machine;

  // No tick is after this time.
  absl::Time end() const {
    return start + static_cast<int64_t>(ticks) * interval;
  }
};

}  // namespace fleetperf::bench

#endif  // FLEETPERF_TESTS_BENCH_MACHINE_WORKLOAD_H_
