#include "driver/pmu/saved_registers.h"

#include "driver/pmu/msr.h"

namespace fleetperf::pmu {
namespace {

bool SaveGeneral(const MsrAccess& msrs, const CpuFeatures& cpu,
                 SavedRegisters* saved) {
  for (uint32_t i = 0; i < cpu.description.num_general; ++i) {
    if (!msrs.Read(cpu.SelectMsr(i), &saved->select[i]) ||
        !msrs.Read(cpu.CounterMsr(i), &saved->counter[i])) {
      return false;
    }
  }
  return true;
}

bool SaveFixed(const MsrAccess& msrs, const CpuFeatures& cpu,
               SavedRegisters* saved) {
  if (cpu.description.fixed_counters == 0) return true;
  for (uint32_t i = 0; i < kMaxFixedCounters; ++i) {
    if (cpu.HasFixed(i) &&
        !msrs.Read(msr::kFixedCounter + i, &saved->fixed[i])) {
      return false;
    }
  }
  return msrs.Read(msr::kFixedControl, &saved->fixed_control);
}

// A write to an Intel counter itself extends the sign of bit 31.
bool RestoreCounter(const MsrAccess& msrs, const CpuFeatures& cpu,
                    uint32_t counter, uint64_t value) {
  uint64_t current = 0;
  const uint32_t msr = cpu.CounterMsr(counter);
  if (msrs.Read(msr, &current) && current == value) return true;
  const bool has_alias =
      cpu.identity.vendor == Vendor::kIntel && cpu.Has(kHasFullWidthWrites);
  return msrs.Write(has_alias ? msr::kFullWidthCounter + counter : msr, value);
}

bool RestoreGeneral(const MsrAccess& msrs, const CpuFeatures& cpu,
                    const SavedRegisters& saved) {
  bool ok = true;
  for (uint32_t i = 0; i < cpu.description.num_general; ++i) {
    ok &= msrs.Change(cpu.SelectMsr(i), saved.select[i]);
    ok &= RestoreCounter(msrs, cpu, i, saved.counter[i]);
  }
  return ok;
}

bool RestoreFixed(const MsrAccess& msrs, const CpuFeatures& cpu,
                  const SavedRegisters& saved) {
  if (cpu.description.fixed_counters == 0) return true;
  bool ok = msrs.Change(msr::kFixedControl, saved.fixed_control);
  for (uint32_t i = 0; i < kMaxFixedCounters; ++i) {
    if (cpu.HasFixed(i)) {
      ok &= msrs.Change(msr::kFixedCounter + i, saved.fixed[i]);
    }
  }
  return ok;
}

// Counters that the core does not program would be stopped with the others.
bool SaveOthers(const MsrAccess& msrs, const CpuFeatures& cpu,
                SavedRegisters* saved) {
  for (uint32_t i = kMaxGeneralCounters; i < cpu.num_selections; ++i) {
    uint64_t select = 0;
    if (!msrs.Read(cpu.SelectMsr(i), &select)) return false;
    saved->others |= select;
  }
  return true;
}

}  // namespace

bool SaveRegisters(const MsrAccess& msrs, const CpuFeatures& cpu,
                   SavedRegisters* saved) {
  saved->user_reads = msrs.UserReads();
  return SaveGeneral(msrs, cpu, saved) && SaveOthers(msrs, cpu, saved) &&
         SaveFixed(msrs, cpu, saved) &&
         (!cpu.Has(kHasGlobalControl) ||
          msrs.Read(cpu.global_control_msr, &saved->global_control));
}

bool StopCounters(const MsrAccess& msrs, const CpuFeatures& cpu) {
  bool ok = true;
  if (cpu.Has(kHasGlobalControl)) ok &= msrs.Write(cpu.global_control_msr, 0);
  for (uint32_t i = 0; i < cpu.description.num_general; ++i) {
    ok &= msrs.Change(cpu.SelectMsr(i), 0);
  }
  if (cpu.Has(kHasGlobalControl)) {
    ok &= msrs.Write(cpu.global_clear_msr, cpu.AllCounters());
  }
  return ok;
}

bool RestoreRegisters(const MsrAccess& msrs, const CpuFeatures& cpu,
                      const SavedRegisters& saved) {
  bool ok = msrs.SetUserReads(saved.user_reads);
  ok &= StopCounters(msrs, cpu);
  ok &= RestoreGeneral(msrs, cpu, saved);
  ok &= RestoreFixed(msrs, cpu, saved);
  if (cpu.Has(kHasGlobalControl)) {
    ok &= msrs.Change(cpu.global_control_msr, saved.global_control);
  }
  return ok;
}

bool HasEnabledCounters(const SavedRegisters& saved) {
  constexpr uint64_t kAnyFixed = 0x3333'3333'3333'3333;
  if ((saved.fixed_control & kAnyFixed) != 0) return true;
  if ((saved.others & msr::kSelectEnable) != 0) return true;
  for (const uint64_t select : saved.select) {
    if ((select & msr::kSelectEnable) != 0) return true;
  }
  return false;
}

}  // namespace fleetperf::pmu
