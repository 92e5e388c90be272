// A simulated PMU on real CPUs and in real time, for systems that lack a PMU,
// such as Wine.

#ifndef FLEETPERF_DRIVER_WINDOWS_SYS_SIMULATED_MACHINE_H_
#define FLEETPERF_DRIVER_WINDOWS_SYS_SIMULATED_MACHINE_H_

#include <stdint.h>

#include "driver/pmu/machine.h"
#include "driver/pmu/simulation/simulated_machine.h"
#include "driver/windows/sys/processors.h"

namespace fleetperf::pmu_device {

// All CPUs are a Xeon E5-1620 v3 whose counters advance with the time:
//   timestamp counter   3500 MHz
//   not halted          half of the time
//   core cycles         1.2 of each reference cycle, i.e. 4200 MHz
//   instructions        1.5 of each core cycle: the IPC is 1.5
//   LLC references      10 of each 1000 instructions, of which 4 miss
//   branches            200 of each 1000 instructions, 2 of them mispredicted
//   package energy      28 W, memory energy 3.5 W
//   temperature         30 degrees below the throttling point
// Each CPU has exactly these ratios between any two reads.
class SimulatedMachine final : public pmu::Machine {
 public:
  SimulatedMachine();
  // Stops the process unless all registers have their former values, so that
  // tests see it.
  ~SimulatedMachine();
  SimulatedMachine(const SimulatedMachine&) = delete;
  SimulatedMachine& operator=(const SimulatedMachine&) = delete;

  pmu::CpuidRegisters Cpuid(uint32_t leaf, uint32_t subleaf) override {
    return machine_.Cpuid(leaf, subleaf);
  }
  bool ReadMsr(uint32_t msr, uint64_t* value) override {
    return machine_.ReadMsr(msr, value);
  }
  bool WriteMsr(uint32_t msr, uint64_t value) override {
    return machine_.WriteMsr(msr, value);
  }
  uint64_t ReadCr4() override { return machine_.ReadCr4(); }
  bool WriteCr4(uint64_t value) override { return machine_.WriteCr4(value); }
  uint64_t ReadTsc() override { return machine_.ReadTsc(); }
  uint32_t CpuLimit() override { return machine_.CpuLimit(); }
  bool RunOn(uint32_t cpu, pmu::CpuWork& work) override;
  pmu::Reservation ReservePmu() override { return machine_.ReservePmu(); }
  void ReleasePmu() override { machine_.ReleasePmu(); }

 private:
  // The time since the start, in milliseconds.
  uint64_t Now();
  // Counts what the CPU did since the last call.
  void Advance(uint32_t cpu);

  Processors processors_;
  pmu::SimulatedMachine machine_;
  const uint64_t start_;
  // When the CPU last advanced.
  uint64_t steps_[pmu::SimulatedMachine::kMaxCpus] = {};
};

using DriverMachine = SimulatedMachine;

}  // namespace fleetperf::pmu_device

#endif  // FLEETPERF_DRIVER_WINDOWS_SYS_SIMULATED_MACHINE_H_
