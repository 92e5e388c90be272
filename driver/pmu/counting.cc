#include "driver/pmu/counting.h"

#include "driver/pmu/cpuid.h"
#include "driver/pmu/msr.h"
#include "driver/pmu/saved_registers.h"

namespace fleetperf::pmu {
namespace {

constexpr uint32_t kEnergyWidth = 32;

bool UsesFixed(const CoreProgram& program, uint32_t counter) {
  return Bits(program.fixed_control, 4 * counter + 3, 4 * counter) != 0;
}

// Clears a counter and sets its selection, without the enable bit.
bool PrepareGeneral(const MsrAccess& msrs, const CpuFeatures& cpu,
                    const CoreProgram& program) {
  for (uint32_t i = 0; i < kMaxGeneralCounters; ++i) {
    if (program.general[i] == 0) continue;
    if (!msrs.WriteAndVerify(cpu.CounterMsr(i), 0) ||
        !msrs.WriteAndVerify(cpu.SelectMsr(i), program.general[i])) {
      return false;
    }
  }
  return true;
}

bool PrepareFixed(const MsrAccess& msrs, const CoreProgram& program) {
  for (uint32_t i = 0; i < kMaxFixedCounters; ++i) {
    if (UsesFixed(program, i) &&
        !msrs.WriteAndVerify(msr::kFixedCounter + i, 0)) {
      return false;
    }
  }
  return true;
}

// With GLOBAL_CTRL nothing counts before its write.
bool Enable(const MsrAccess& msrs, const CpuFeatures& cpu,
            const CoreProgram& program) {
  uint64_t enabled = 0;
  for (uint32_t i = 0; i < kMaxGeneralCounters; ++i) {
    if (program.general[i] == 0) continue;
    enabled |= uint64_t{1} << i;
    if (!msrs.WriteAndVerify(cpu.SelectMsr(i),
                             program.general[i] | msr::kSelectEnable)) {
      return false;
    }
  }
  for (uint32_t i = 0; i < kMaxFixedCounters; ++i) {
    if (UsesFixed(program, i)) enabled |= uint64_t{1} << (32 + i);
  }
  if (cpu.description.fixed_counters != 0 &&
      !msrs.WriteAndVerify(msr::kFixedControl, program.fixed_control)) {
    return false;
  }
  return !cpu.Has(kHasGlobalControl) ||
         msrs.WriteAndVerify(cpu.global_control_msr, enabled);
}

bool ReadProgrammed(const MsrAccess& msrs, const CpuFeatures& cpu,
                    const CoreProgram& program, RawCounts* counts) {
  for (uint32_t i = 0; i < kMaxGeneralCounters; ++i) {
    if (program.general[i] != 0 &&
        !msrs.Read(cpu.CounterMsr(i), &counts->general[i])) {
      return false;
    }
  }
  for (uint32_t i = 0; i < kMaxFixedCounters; ++i) {
    if (UsesFixed(program, i) &&
        !msrs.Read(msr::kFixedCounter + i, &counts->fixed[i])) {
      return false;
    }
  }
  return true;
}

// Registers that count without being programmed.
bool ReadFreeRunning(const MsrAccess& msrs, const CpuFeatures& cpu,
                     RawCounts* counts) {
  const bool is_amd = cpu.identity.vendor == Vendor::kAmd;
  const uint32_t package_energy =
      is_amd ? msr::kAmdPackageEnergy : msr::kPackageEnergy;
  return (!cpu.Has(kHasActualPerformance) ||
          (msrs.Read(msr::kActualPerformance, &counts->actual_performance) &&
           msrs.Read(msr::kMaximumPerformance,
                     &counts->maximum_performance))) &&
         (!cpu.Has(kHasPackageEnergy) ||
          msrs.Read(package_energy, &counts->package_energy)) &&
         (!cpu.Has(kHasMemoryEnergy) ||
          msrs.Read(msr::kMemoryEnergy, &counts->memory_energy));
}

// Bits 22:16 are valid if bit 31 is set.
bool ReadTemperature(const MsrAccess& msrs, const CpuFeatures& cpu,
                     CpuCounts* totals) {
  if (!cpu.Has(kHasTemperature)) return true;
  uint64_t status = 0;
  if (!msrs.Read(msr::kThermalStatus, &status)) return false;
  totals->has_temperature = Bit(status, 31) ? 1 : 0;
  if (totals->has_temperature == 0) return true;
  totals->temperature_limit = cpu.temperature_limit;
  totals->temperature_below_limit = static_cast<uint32_t>(Bits(status, 22, 16));
  return true;
}

// A counter of `width` bits that went from `last` to `now`, possibly through 0.
uint64_t Difference(uint64_t now, uint64_t last, uint32_t width) {
  return Bits(now - last, static_cast<int>(width) - 1, 0);
}

// A counter of 64 bits, which does not wrap but may be set to 0.
uint64_t Growth(uint64_t now, uint64_t last) {
  return now < last ? now : now - last;
}

void AddCounts(const CpuFeatures& cpu, const RawCounts& now,
               const RawCounts& last, CpuCounts* totals) {
  const CpuDescription& description = cpu.description;
  for (uint32_t i = 0; i < kMaxGeneralCounters; ++i) {
    totals->general[i] +=
        Difference(now.general[i], last.general[i], description.general_width);
  }
  for (uint32_t i = 0; i < kMaxFixedCounters; ++i) {
    if (!cpu.HasFixed(i)) continue;
    totals->fixed[i] +=
        Difference(now.fixed[i], last.fixed[i], description.fixed_width);
  }
  totals->actual_performance +=
      Growth(now.actual_performance, last.actual_performance);
  totals->maximum_performance +=
      Growth(now.maximum_performance, last.maximum_performance);
  totals->package_energy +=
      Difference(now.package_energy, last.package_energy, kEnergyWidth);
  totals->memory_energy +=
      Difference(now.memory_energy, last.memory_energy, kEnergyWidth);
}

}  // namespace

bool StartCounters(const MsrAccess& msrs, const CpuFeatures& cpu,
                   const CoreProgram& program, bool user_reads,
                   RawCounts* start) {
  *start = RawCounts{};
  return StopCounters(msrs, cpu) && PrepareGeneral(msrs, cpu, program) &&
         PrepareFixed(msrs, program) && ReadFreeRunning(msrs, cpu, start) &&
         msrs.SetUserReads(user_reads) && Enable(msrs, cpu, program);
}

bool UpdateCounts(Machine& machine, const CpuFeatures& cpu,
                  const CoreProgram& program, RawCounts* last,
                  CpuCounts* totals) {
  const MsrAccess msrs(machine);
  RawCounts now;
  if (!ReadProgrammed(msrs, cpu, program, &now) ||
      !ReadFreeRunning(msrs, cpu, &now) ||
      !ReadTemperature(msrs, cpu, totals)) {
    return false;
  }
  totals->tsc = machine.ReadTsc();
  AddCounts(cpu, now, *last, totals);
  *last = now;
  return true;
}

}  // namespace fleetperf::pmu
