#include "driver/windows/sys/processors.h"

#include "driver/pmu/protocol.h"

namespace fleetperf::pmu_device {
namespace {

// Of the calling thread, in the object's lifetime.
class HighestPriority {
 public:
  HighestPriority()
      : previous_(KeSetPriorityThread(KeGetCurrentThread(), HIGH_PRIORITY)) {}
  ~HighestPriority() { KeSetPriorityThread(KeGetCurrentThread(), previous_); }
  HighestPriority(const HighestPriority&) = delete;
  HighestPriority& operator=(const HighestPriority&) = delete;

 private:
  const KPRIORITY previous_;
};

}  // namespace

Processors::Processors()
    : raise_irql_(FindRoutine<RaiseIrql>(L"KfRaiseIrql")),
      lower_irql_(FindRoutine<LowerIrql>(L"KeLowerIrql")),
      number_from_index_(FLEETPERF_FIND_ROUTINE(KeGetProcessorNumberFromIndex)),
      set_affinity_(FLEETPERF_FIND_ROUTINE(KeSetSystemGroupAffinityThread)),
      revert_affinity_(
          FLEETPERF_FIND_ROUTINE(KeRevertToUserGroupAffinityThread)) {}

uint32_t Processors::Limit() {
  const uint32_t limit = KeQueryMaximumProcessorCountEx(ALL_PROCESSOR_GROUPS);
  return limit < pmu::kMaxCpus ? limit : pmu::kMaxCpus;
}

bool Processors::RunOn(uint32_t cpu, pmu::CpuWork& work) const {
  if (cpu >= KeQueryActiveProcessorCountEx(ALL_PROCESSOR_GROUPS)) return false;
  // A busy CPU would let the thread, and all clients with it, wait.
  const HighestPriority priority;
  return HasGroups() ? RunInGroup(cpu, work) : RunWithoutGroups(cpu, work);
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
  const bool raises = RaisesIrql();
  const KIRQL irql = raises ? raise_irql_(DISPATCH_LEVEL) : PASSIVE_LEVEL;
  const bool is_here = KeGetCurrentProcessorNumberEx(nullptr) == cpu;
  if (is_here) work.Run();
  if (raises) lower_irql_(irql);
  return is_here;
}

}  // namespace fleetperf::pmu_device
