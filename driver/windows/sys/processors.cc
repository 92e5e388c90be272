#include "driver/windows/sys/processors.h"

#include "driver/pmu/protocol.h"

namespace fleetperf::pmu_device {
Processors::Processors()
    : raise_irql_(FindRoutine<RaiseIrql>(L"KfRaiseIrql")),
      lower_irql_(FindRoutine<LowerIrql>(L"KeLowerIrql")),
      number_from_index_(FindRoutine<decltype(KeGetProcessorNumberFromIndex)>(
          L"KeGetProcessorNumberFromIndex")),
      set_affinity_(FindRoutine<decltype(KeSetSystemGroupAffinityThread)>(
          L"KeSetSystemGroupAffinityThread")),
      revert_affinity_(FindRoutine<decltype(KeRevertToUserGroupAffinityThread)>(
          L"KeRevertToUserGroupAffinityThread")) {}

uint32_t Processors::Limit() {
  const uint32_t limit = KeQueryMaximumProcessorCountEx(ALL_PROCESSOR_GROUPS);
  return limit < pmu::kMaxCpus ? limit : pmu::kMaxCpus;
}

bool Processors::RunOn(uint32_t cpu, pmu::CpuWork& work) const {
  if (cpu >= KeQueryActiveProcessorCountEx(ALL_PROCESSOR_GROUPS)) return false;
  const bool has_groups = number_from_index_ != nullptr &&
                          set_affinity_ != nullptr &&
                          revert_affinity_ != nullptr;
  return has_groups ? RunInGroup(cpu, work) : RunWithoutGroups(cpu, work);
}

bool Processors::RunInGroup(uint32_t cpu, pmu::CpuWork& work) const {
  PROCESSOR_NUMBER number;
  if (!NT_SUCCESS(number_from_index_(cpu, &number))) return false;
  GROUP_AFFINITY affinity = {};
  affinity.Group = number.Group;
  affinity.Mask = KAFFINITY{1} << number.Number;
  GROUP_AFFINITY previous;
  set_affinity_(&affinity, &previous);
  const bool has_run = RunHere(cpu, work);
  revert_affinity_(&previous);
  return has_run;
}

bool Processors::RunWithoutGroups(uint32_t cpu, pmu::CpuWork& work) const {
  if (cpu >= sizeof(KAFFINITY) * 8) return false;
  const KAFFINITY previous = KeSetSystemAffinityThreadEx(KAFFINITY{1} << cpu);
  const bool has_run = RunHere(cpu, work);
  KeRevertToUserAffinityThreadEx(previous);
  return has_run;
}

// Runs `work` if the thread is on the CPU. A change of the affinity that failed
// leaves the thread where it was.
bool Processors::RunHere(uint32_t cpu, pmu::CpuWork& work) const {
  const bool raises = raise_irql_ != nullptr && lower_irql_ != nullptr;
  const KIRQL irql = raises ? raise_irql_(DISPATCH_LEVEL) : PASSIVE_LEVEL;
  const bool is_here = KeGetCurrentProcessorNumberEx(nullptr) == cpu;
  if (is_here) work.Run();
  if (raises) lower_irql_(irql);
  return is_here;
}

}  // namespace fleetperf::pmu_device
