// A fleet that does not exist: machines whose counters behave as those of real
// ones do, by a mix that is the same for every run with the same seed.
//
//   40 %    constants, most of them 0
//   20 %    gauges that change now and then by a little
//   15 %    times of logical CPUs in 100 ns: five states that add up to a
//   second 10 %    bytes: what grows by about the same, of very different sizes
//   10 %    counts that seldom grow
//    2.5 %  frequencies: noise around 2.1 GHz
//    2.5 %  the bits of real numbers, as PerfLib has none

#ifndef FLEETPERF_TESTS_BENCH_FLEET_WORKLOAD_H_
#define FLEETPERF_TESTS_BENCH_FLEET_WORKLOAD_H_

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace fleetperf::bench {

// Counters of a machine: what a counterset has of one instance.
struct WorkloadCounterset {
  std::string name;
  std::vector<std::string> counters;
  std::vector<std::string> instances;
};

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

 private:
  friend class WorkloadMachine;
  enum class Kind : uint8_t {
    kConstant,
    kGauge,
    kCpuTime,
    kBytes,
    kSeldom,
    kFrequency,
    kReal
  };

  void Add(Kind kind, const std::string& name,
           const std::vector<std::string>& counters, int instances);

  std::vector<WorkloadCounterset> countersets_;
  std::vector<Kind> kinds_;  // by counterset, instance and counter
};

class WorkloadMachine {
 public:
  WorkloadMachine(const FleetWorkload& workload, uint64_t seed);

  // The next second. Values are by counterset, instance and counter.
  void Tick();
  const std::vector<uint64_t>& values() const { return values_; }

 private:
  using Kind = FleetWorkload::Kind;

  uint64_t Below(uint64_t limit) { return random_() % limit; }
  double Uniform() { return static_cast<double>(random_() >> 11) * 0x1p-53; }
  void TickCpu(size_t first);

  const FleetWorkload& workload_;
  std::mt19937_64 random_;
  std::vector<uint64_t> values_;
  std::vector<double> levels_;  // of kBytes: how much it grows by
};

}  // namespace fleetperf::bench

#endif  // FLEETPERF_TESTS_BENCH_FLEET_WORKLOAD_H_
