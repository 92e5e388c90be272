#include "driver/pmu/cpu_features.h"

#include "driver/pmu/cpuid.h"
#include "driver/pmu/identity.h"
#include "driver/pmu/msr.h"
#include "driver/pmu/msr_access.h"

namespace fleetperf::pmu {
namespace {

constexpr uint32_t kNumArchitecturalEvents = 8;

// The core programs counters of at least 32 bits.
bool IsWidth(uint32_t width) { return width >= 32 && width <= 64; }

// CPUID.0AH:EBX says which events are absent, as far as its length in EAX goes.
uint32_t AbsentEvents(const CpuidRegisters& leaf) {
  const uint32_t length = Bits(leaf.eax, 31, 24);
  const uint32_t all = (1 << kNumArchitecturalEvents) - 1;
  if (length >= kNumArchitecturalEvents) return leaf.ebx & all;
  const uint32_t described = (1 << length) - 1;
  return (leaf.ebx & described) | (all & ~described);
}

// Counter i exists if ECX[i] is set, from version 5, or if EDX[4:0] > i.
uint32_t FixedCounters(const CpuidRegisters& leaf, uint32_t version) {
  if (version < 2) return 0;
  const uint32_t count = Bits(leaf.edx, 4, 0);
  uint32_t counters = version >= 5 ? leaf.ecx : 0;
  for (uint32_t i = 0; i < count; ++i) counters |= uint32_t{1} << i;
  return counters & ((1 << kMaxFixedCounters) - 1);
}

void DetectIntelPmu(const Cpuid& cpuid, CpuFeatures* features) {
  const CpuidRegisters leaf = cpuid.Leaf(0xA);
  CpuDescription& cpu = features->description;
  const uint32_t version = Bits(leaf.eax, 7, 0);
  const uint32_t count = Bits(leaf.eax, 15, 8);
  const uint32_t fixed = FixedCounters(leaf, version);
  const uint32_t width = Bits(leaf.eax, 23, 16);
  const uint32_t fixed_width = Bits(leaf.edx, 12, 5);
  if (version == 0 || !IsWidth(width)) return;
  cpu.pmu_version = version;
  cpu.num_general = count < kMaxGeneralCounters ? count : kMaxGeneralCounters;
  cpu.general_width = width;
  if (IsWidth(fixed_width)) {
    cpu.fixed_counters = fixed;
    cpu.fixed_width = fixed != 0 ? fixed_width : 0;
  }
  cpu.absent_events = AbsentEvents(leaf);
  if (version >= 2) {
    cpu.capabilities |= kHasGlobalControl;
    features->global_control_msr = msr::kGlobalControl;
    features->global_clear_msr = msr::kOverflowControl;
  }
  features->num_selections =
      count < msr::kMaxSelections ? count : msr::kMaxSelections;
  features->select_msr = msr::kEventSelect;
  features->counter_msr = msr::kGeneralCounter;
}

void DetectFullWidthWrites(const Cpuid& cpuid, const MsrAccess& msrs,
                           CpuFeatures* features) {
  uint64_t capabilities = 0;
  const bool has_register = Bit(cpuid.Leaf(1).ecx, 15);
  if (features->HasPmu() && has_register &&
      msrs.Read(msr::kPerfCapabilities, &capabilities) &&
      (capabilities & msr::kFullWidthWrites) != 0) {
    features->description.capabilities |= kHasFullWidthWrites;
  }
}

// Bit 23 of CPUID.80000001H:ECX is PerfCtrExtCore: six counters instead of
// four, whose registers come in pairs. Bit 0 of CPUID.80000022H:EAX is
// PerfMonV2.
void DetectAmdPmu(const Cpuid& cpuid, CpuFeatures* features) {
  const bool is_extended = Bit(cpuid.Leaf(0x80000001).ecx, 23);
  CpuDescription& cpu = features->description;
  cpu.pmu_version = 1;
  cpu.num_general =
      is_extended ? msr::kNumAmdCounters : msr::kNumAmdLegacyCounters;
  cpu.general_width = 48;
  cpu.absent_events = (1 << kNumArchitecturalEvents) - 1;
  // A write sets all bits of a counter.
  cpu.capabilities |= kHasFullWidthWrites;
  features->select_msr = is_extended ? msr::kAmdSelect : msr::kAmdLegacySelect;
  features->counter_msr =
      is_extended ? msr::kAmdCounter : msr::kAmdLegacyCounter;
  features->msr_stride = is_extended ? 2 : 1;
  features->num_selections = cpu.num_general;
  if (Bit(cpuid.Leaf(0x80000022).eax, 0)) {
    cpu.pmu_version = 2;
    cpu.capabilities |= kHasGlobalControl;
    features->global_control_msr = msr::kAmdGlobalControl;
    features->global_clear_msr = msr::kAmdGlobalClear;
  }
}

// Bits 12:8 are the energy unit. A hypervisor that does not count energy
// returns 0.
bool ReadEnergyUnit(const MsrAccess& msrs, uint32_t unit_msr,
                    uint32_t energy_msr, uint32_t* unit) {
  uint64_t value = 0;
  uint64_t energy = 0;
  if (!msrs.Read(unit_msr, &value) || value == 0) return false;
  *unit = static_cast<uint32_t>(Bits(value, 12, 8));
  return msrs.Read(energy_msr, &energy);
}

void DetectIntelEnergy(const MsrAccess& msrs, CpuFeatures* features) {
  if (CountsEnergyInMicrojoules(features->identity) ||
      !ReadEnergyUnit(msrs, msr::kEnergyUnit, msr::kPackageEnergy,
                      &features->energy_unit)) {
    return;
  }
  features->description.capabilities |= kHasPackageEnergy;
  uint64_t energy = 0;
  if (!msrs.Read(msr::kMemoryEnergy, &energy)) return;
  features->description.capabilities |= kHasMemoryEnergy;
  features->memory_energy_unit =
      HasFixedMemoryEnergyUnit(features->identity) ? 16 : features->energy_unit;
}

void DetectAmdEnergy(const MsrAccess& msrs, CpuFeatures* features) {
  if (ReadEnergyUnit(msrs, msr::kAmdEnergyUnit, msr::kAmdPackageEnergy,
                     &features->energy_unit)) {
    features->description.capabilities |= kHasPackageEnergy;
  }
}

void DetectTemperature(const Cpuid& cpuid, const MsrAccess& msrs,
                       CpuFeatures* features) {
  uint64_t value = 0;
  if (!Bit(cpuid.Leaf(6).eax, 0) || !msrs.Read(msr::kThermalStatus, &value)) {
    return;
  }
  features->description.capabilities |= kHasTemperature;
  if (msrs.Read(msr::kTemperatureTarget, &value)) {
    features->temperature_limit = static_cast<uint32_t>(Bits(value, 23, 16));
  }
}

void DetectActualPerformance(const Cpuid& cpuid, const MsrAccess& msrs,
                             CpuFeatures* features) {
  uint64_t value = 0;
  if (Bit(cpuid.Leaf(6).ecx, 0) && msrs.Read(msr::kActualPerformance, &value) &&
      msrs.Read(msr::kMaximumPerformance, &value)) {
    features->description.capabilities |= kHasActualPerformance;
  }
}

}  // namespace

CpuFeatures DetectFeatures(Machine& machine) {
  const Cpuid cpuid(machine);
  const MsrAccess msrs(machine);
  CpuFeatures features;
  features.identity = ReadIdentity(cpuid);
  features.description.core_type = CoreType(cpuid);
  features.description.package = Package(cpuid);
  if (features.identity.vendor == Vendor::kIntel) {
    DetectIntelPmu(cpuid, &features);
    DetectFullWidthWrites(cpuid, msrs, &features);
    DetectIntelEnergy(msrs, &features);
    DetectTemperature(cpuid, msrs, &features);
    features.tsc_hz = TscHertz(cpuid, msrs, features.identity);
  } else if (features.identity.vendor == Vendor::kAmd) {
    DetectAmdPmu(cpuid, &features);
    DetectAmdEnergy(msrs, &features);
  }
  DetectActualPerformance(cpuid, msrs, &features);
  if (features.HasPmu()) features.description.capabilities |= kHasUserReads;
  return features;
}

}  // namespace fleetperf::pmu
