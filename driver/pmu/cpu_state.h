// What the core keeps of a CPU, and its work on the CPU.

#ifndef FLEETPERF_DRIVER_PMU_CPU_STATE_H_
#define FLEETPERF_DRIVER_PMU_CPU_STATE_H_

#include "driver/pmu/counting.h"
#include "driver/pmu/cpu_features.h"
#include "driver/pmu/machine.h"
#include "driver/pmu/protocol.h"
#include "driver/pmu/saved_registers.h"

namespace fleetperf::pmu {

enum class CpuStage : uint32_t {
  kUntouched,
  kSaved,    // `saved` holds the registers, which have not changed
  kChanged,  // the registers may differ from `saved`
  kLost,     // the same, and another owner may have changed them since
};

struct CpuState {
  bool is_detected = false;
  CpuStage stage = CpuStage::kUntouched;
  CpuFeatures features;
  SavedRegisters saved;
  CoreProgram program;  // in kChanged
  RawCounts last;
  CpuCounts totals;
};

// The functions below run on the CPU itself.

void Detect(Machine& machine, CpuState* cpu);

// Saves the registers. Of a lost CPU, restores CR4.PCE before. kInUse if
// counters are already enabled.
Result Claim(Machine& machine, CpuState* cpu);

// Starts `program`, which may be null: then restores the registers. Claims the
// CPU if it is untouched. Keeps the totals.
Result Start(Machine& machine, const CoreProgram* program, bool user_reads,
             CpuState* cpu);

// Updates the totals, if the CPU counts.
bool Update(Machine& machine, CpuState* cpu);

// Restores the registers; of a lost CPU only CR4.PCE. The CPU is then
// untouched, unless it refused an access.
bool Restore(Machine& machine, CpuState* cpu);

}  // namespace fleetperf::pmu

#endif  // FLEETPERF_DRIVER_PMU_CPU_STATE_H_
