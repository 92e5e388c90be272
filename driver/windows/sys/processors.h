// Runs work on a certain CPU.

#ifndef FLEETPERF_DRIVER_WINDOWS_SYS_PROCESSORS_H_
#define FLEETPERF_DRIVER_WINDOWS_SYS_PROCESSORS_H_

#include <stdint.h>

#include "driver/pmu/machine.h"
#include "driver/windows/sys/kernel.h"

namespace fleetperf::pmu_device {

// CPUs are numbered across all processor groups. IRQL: PASSIVE_LEVEL or
// APC_LEVEL.
class Processors {
 public:
  Processors();

  // Includes the CPUs that may be added while Windows runs.
  static uint32_t Limit();

  // Runs `work` on a CPU, at DISPATCH_LEVEL: undisturbed by other threads. The
  // thread waits for the CPU with the highest priority. False if the CPU is
  // offline.
  bool RunOn(uint32_t cpu, pmu::CpuWork& work) const;

  // Whether Windows has all functions: those of processor groups, and those
  // that raise the interrupt level. Wine has not.
  bool IsComplete() const { return HasGroups() && RaisesIrql(); }

 private:
  using RaiseIrql = KIRQL FASTCALL(KIRQL);
  using LowerIrql = void NTAPI(KIRQL);

  bool HasGroups() const {
    return number_from_index_ != nullptr && set_affinity_ != nullptr &&
           revert_affinity_ != nullptr;
  }
  bool RaisesIrql() const {
    return raise_irql_ != nullptr && lower_irql_ != nullptr;
  }
  bool RunInGroup(uint32_t cpu, pmu::CpuWork& work) const;
  bool RunWithoutGroups(uint32_t cpu, pmu::CpuWork& work) const;
  bool RunHere(uint32_t cpu, pmu::CpuWork& work) const;

  // The headers define these as instructions, which Wine does not execute.
  RaiseIrql* raise_irql_;
  LowerIrql* lower_irql_;
  // Wine lacks these.
  decltype(KeGetProcessorNumberFromIndex)* number_from_index_;
  decltype(KeSetSystemGroupAffinityThread)* set_affinity_;
  decltype(KeRevertToUserGroupAffinityThread)* revert_affinity_;
};

}  // namespace fleetperf::pmu_device

#endif  // FLEETPERF_DRIVER_WINDOWS_SYS_PROCESSORS_H_
