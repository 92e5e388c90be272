// A machine whose CPUID promises the PMU of a Xeon E5-1620 v3, whose
// reservation succeeds, and whose registers are those of the process that runs
// the driver: Wine lets every WRMSR fault.

#ifndef FLEETPERF_TESTS_DRIVER_WINDOWS_FAULTING_MACHINE_H_
#define FLEETPERF_TESTS_DRIVER_WINDOWS_FAULTING_MACHINE_H_

#include <stdint.h>

#include "driver/pmu/simulation/cpu_model.h"
#include "driver/windows/sys/guarded.h"
#include "driver/windows/sys/instructions.h"
#include "driver/windows/sys/processors.h"

namespace fleetperf::pmu_device {

class FaultingMachine final : public pmu::Machine {
 public:
  pmu::CpuidRegisters Cpuid(uint32_t leaf, uint32_t subleaf) override {
    return pmu::AnswerCpuid(pmu::HaswellServer(),
                            KeGetCurrentProcessorNumberEx(nullptr), leaf,
                            subleaf);
  }
  bool ReadMsr(uint32_t msr, uint64_t* value) override {
    return GuardedReadMsr(msr, value);
  }
  bool WriteMsr(uint32_t msr, uint64_t value) override {
    return GuardedWriteMsr(msr, value);
  }
  uint64_t ReadCr4() override { return ReadCr4Instruction(); }
  bool WriteCr4(uint64_t value) override { return GuardedWriteCr4(value); }
  uint64_t ReadTsc() override { return ReadTscInstruction(); }
  uint32_t CpuLimit() override { return Processors::Limit(); }
  bool RunOn(uint32_t cpu, pmu::CpuWork& work) override {
    return processors_.RunOn(cpu, work);
  }
  pmu::Reservation ReservePmu() override { return pmu::Reservation::kGranted; }
  void ReleasePmu() override {}

 private:
  Processors processors_;
};

using DriverMachine = FaultingMachine;

}  // namespace fleetperf::pmu_device

#endif  // FLEETPERF_TESTS_DRIVER_WINDOWS_FAULTING_MACHINE_H_
