// A fleet that does not exist: machines whose counters behave as those of real
// ones do, by a mix that is the same for every run with the same seed.
//
//   40 %    constants, most of them 0
//   20 %    gauges that change now and then by a little
//   15 %    times of logical CPUs in 100 ns: five states that make up a second
//   10 %    bytes: what grows by about the same, of very different sizes
//   10 %    counts that seldom grow
//    2.5 %  frequencies: noise around 2.1 GHz
//    2.5 %  the bits of real numbers, as PerfLib has none

#ifndef FLEETPERF_TESTS_BENCH_FLEET_WORKLOAD_H_
#define FLEETPERF_TESTS_BENCH_FLEET_WORKLOAD_H_

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "tests/bench/machine_workload.h"

namespace fleetperf::bench {

// Machines that are all alike, but for their values.
class FleetWorkload {
 public:
  // About so many series, of one machine.
  explicit FleetWorkload(int series);

  const std::vector<WorkloadCounterset>& countersets() const {
    return countersets_;
  }
  // How many series there are.
  size_t series() const { return kinds_.size(); }

  // Machines called "host-0" and so on, which tick one after the other. It
  // refers to this.
  Workload MakeWorkload(size_t machines, size_t ticks, absl::Time start,
                        absl::Duration interval = absl::Seconds(1)) const;

 private:
  friend class FleetMachine;
  enum class Kind : uint8_t {
    kConstant,
    kGauge,
    kCpuTime,
    kBytes,
    kSeldom,
    kFrequency,
    kReal
  };

  static uint32_t TypeOf(Kind kind);
  void Add(Kind kind, const std::string& name,
           const std::vector<std::string>& counters, int instances);

  std::vector<WorkloadCounterset> countersets_;
  std::vector<Kind> kinds_;  // by counterset, instance and counter
};

class FleetMachine : public MachineWorkload {
 public:
  // `workload` outlives this. The first tick is at `start`, or up to a
  // millisecond later, as each of the others is.
  FleetMachine(const FleetWorkload& workload, std::string name, uint64_t seed,
               absl::Time start, absl::Duration interval = absl::Seconds(1));

  const std::string& name() const override { return name_; }
  const std::vector<WorkloadCounterset>& countersets() const override {
    return workload_.countersets();
  }
  absl::Duration interval() const override { return interval_; }
  const WorkloadTick& Tick() override;

 private:
  using Kind = FleetWorkload::Kind;

  uint64_t Below(uint64_t limit) { return random_() % limit; }
  double Uniform() { return static_cast<double>(random_() >> 11) * 0x1p-53; }
  void TickCpu(size_t first);

  const FleetWorkload& workload_;
  const std::string name_;
  const absl::Duration interval_;
  std::mt19937_64 random_;
  absl::Time next_;
  WorkloadTick tick_;
  std::vector<double> levels_;  // of kBytes: how much it grows by
};

}  // namespace fleetperf::bench

#endif  // FLEETPERF_TESTS_BENCH_FLEET_WORKLOAD_H_
