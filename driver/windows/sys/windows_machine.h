// The machine that Windows runs on.

#ifndef FLEETPERF_DRIVER_WINDOWS_SYS_WINDOWS_MACHINE_H_
#define FLEETPERF_DRIVER_WINDOWS_SYS_WINDOWS_MACHINE_H_

#include <stdint.h>

#include "driver/pmu/machine.h"
#include "driver/windows/sys/processors.h"

namespace fleetperf::pmu_device {

class WindowsMachine final : public pmu::Machine {
 public:
  WindowsMachine();

  pmu::CpuidRegisters Cpuid(uint32_t leaf, uint32_t subleaf) override;
  bool ReadMsr(uint32_t msr, uint64_t* value) override;
  bool WriteMsr(uint32_t msr, uint64_t value) override;
  uint64_t ReadCr4() override;
  bool WriteCr4(uint64_t value) override;
  uint64_t ReadTsc() override;
  uint32_t CpuLimit() override;
  bool RunOn(uint32_t cpu, pmu::CpuWork& work) override;

  // A Windows without the functions that reserve the PMU refuses.
  pmu::Reservation ReservePmu() override;
  void ReleasePmu() override;

 private:
  Processors processors_;
  decltype(HalAllocateHardwareCounters)* allocate_;
  decltype(HalFreeHardwareCounters)* free_;
  HANDLE counters_ = nullptr;
};

using DriverMachine = WindowsMachine;

}  // namespace fleetperf::pmu_device

#endif  // FLEETPERF_DRIVER_WINDOWS_SYS_WINDOWS_MACHINE_H_
