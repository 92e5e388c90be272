#include "driver/pmu/cpu_state.h"

#include "driver/pmu/msr_access.h"
#include "driver/pmu/program_check.h"

namespace fleetperf::pmu {
namespace {

void GiveUpLost(Machine& machine, CpuState* cpu) {
  if (cpu->stage != CpuStage::kLost) return;
  MsrAccess(machine).SetUserReads(cpu->saved.user_reads);
  cpu->stage = CpuStage::kUntouched;
}

}  // namespace

void Detect(Machine& machine, CpuState* cpu) {
  cpu->features = DetectFeatures(machine);
  cpu->is_detected = true;
}

Result Claim(Machine& machine, CpuState* cpu) {
  GiveUpLost(machine, cpu);
  if (!cpu->features.HasPmu() || cpu->stage != CpuStage::kUntouched) {
    return Result::kOk;
  }
  cpu->saved = SavedRegisters{};
  if (!SaveRegisters(MsrAccess(machine), cpu->features, &cpu->saved)) {
    return Result::kFault;
  }
  if (HasEnabledCounters(cpu->saved)) return Result::kInUse;
  cpu->stage = CpuStage::kSaved;
  return Result::kOk;
}

Result Start(Machine& machine, const CoreProgram* program, bool user_reads,
             CpuState* cpu) {
  if (!cpu->features.HasPmu() || program == nullptr) {
    return Restore(machine, cpu) ? Result::kOk : Result::kFault;
  }
  const Result check = CheckProgram(cpu->features, *program);
  if (check != Result::kOk) return check;
  const Result claim = Claim(machine, cpu);
  if (claim != Result::kOk) return claim;
  cpu->stage = CpuStage::kChanged;
  cpu->program = *program;
  return StartCounters(MsrAccess(machine), cpu->features, *program, user_reads,
                       &cpu->last)
             ? Result::kOk
             : Result::kFault;
}

bool Update(Machine& machine, CpuState* cpu) {
  return cpu->stage != CpuStage::kChanged ||
         UpdateCounts(machine, cpu->features, cpu->program, &cpu->last,
                      &cpu->totals);
}

bool Restore(Machine& machine, CpuState* cpu) {
  GiveUpLost(machine, cpu);
  if (cpu->stage == CpuStage::kChanged &&
      !RestoreRegisters(MsrAccess(machine), cpu->features, cpu->saved)) {
    return false;
  }
  cpu->stage = CpuStage::kUntouched;
  return true;
}

}  // namespace fleetperf::pmu
