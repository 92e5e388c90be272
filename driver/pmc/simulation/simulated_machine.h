// A machine on which the experiments give the results that their texts predict:
// a processor of 3.5 GHz that runs at 3.6 GHz, and a simulated perf_event.

#ifndef FLEETPERF_DRIVER_PMC_SIMULATION_SIMULATED_MACHINE_H_
#define FLEETPERF_DRIVER_PMC_SIMULATION_SIMULATED_MACHINE_H_

#include <cstddef>
#include <cstdint>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "driver/perf_event/event.h"
#include "driver/perf_event/simulation/simulated_system.h"
#include "driver/pmc/experiments/processor.h"
#include "driver/pmc/machine.h"

namespace fleetperf::pmc {

// Instead of running code, counts what the code costs by its description:
//   loops    Loop::instructions and Loop::cycles a turn, at 3.6 GHz
//   strides  a line of 64 bytes is loaded once in each pass that reads it. A
//            miss takes 8 ns, a hit 0.4 ns
//   sleep    84 M instructions, 157 M cycles and 184 M reference cycles a
//            second
// Thread-compatible.
class SimulatedProcessor : public Processor {
 public:
  static constexpr uint64_t kTimestampHertz = 3'500'000'000;

  // The hardware events of CPU 0 exist from then on.
  explicit SimulatedProcessor(perf_event::SimulatedSystem& system);

  void Run(const Loop& loop, uint64_t turns) override;
  uint64_t RunBetweenReads(const ExactCode& code, uint32_t counter) override;
  void ReadInStrides(absl::Span<const uint8_t> memory, size_t stride) override;
  void Sleep(absl::Duration duration) override;
  uint64_t ReadTimestamp() override;
  absl::Duration Now() override { return elapsed_; }
  int PinToCpu() override { return 0; }

 private:
  void Count(const perf_event::Event& event, double count);
  void Advance(absl::Duration duration);

  perf_event::SimulatedSystem& system_;
  absl::Duration elapsed_;
};

// A machine of two CPUs. Lives as long as the process.
Machine SimulatedMachine();

}  // namespace fleetperf::pmc

#endif  // FLEETPERF_DRIVER_PMC_SIMULATION_SIMULATED_MACHINE_H_
