// A simulated fleet. The machines' counters behave like those of real machines.
// Runs with the same seed yield the same values.
//
//   40 %    constants, most of them 0
//   20 %    gauges with rare, small changes
//   15 %    times of logical CPUs in 100 ns: five states that add up to the
//           elapsed time
//   10 %    byte counts: each grows at a nearly constant rate; the rates
//           vary widely
//   10 %    counts that rarely grow
//    2.5 %  frequencies: noise around 2.1 GHz
//    2.5 %  the bits of doubles, since PerfLib has no floating-point values

#ifndef FLEETPERF_TESTS_BENCH_FLEET_WORKLOAD_H_
#define FLEETPERF_TESTS_BENCH_FLEET_WORKLOAD_H_

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "tests/bench/machine_workload.h"

namespace fleetperf::bench {

// Machines with the same countersets and different values.
class FleetWorkload {
 public:
  // `series` is the approximate number of series per machine.
  explicit FleetWorkload(int series);

  const std::vector<WorkloadCounterset>& countersets() const {
    return countersets_;
  }
  // The exact number of series per machine.
  size_t series() const { return kinds_.size(); }

  // Returns machines "host-0", "host-1" and so on, with evenly staggered ticks.
  // The result refers to this object.
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
  // `workload` must outlive this. Ticks are at multiples of `interval` from
  // `start`, each up to a millisecond late.
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
  std::vector<double> levels_;  // growth per tick of kBytes series
};

}  // namespace fleetperf::bench

#endif  // FLEETPERF_TESTS_BENCH_FLEET_WORKLOAD_H_
