#include "driver/pmu/cpu_features.h"

#include <stddef.h>
#include <stdint.h>

#include "driver/pmu/cpuid.h"
#include "driver/pmu/msr.h"
#include "driver/pmu/msr_access.h"

namespace fleetperf::pmu {
namespace {

Vendor ReadVendor(const CpuidRegisters& leaf) {
  if (leaf.ebx == 0x756E6547 && leaf.edx == 0x49656E69 &&
      leaf.ecx == 0x6C65746E) {
    return Vendor::kIntel;  // "GenuineIntel"
  }
  if (leaf.ebx == 0x68747541 && leaf.edx == 0x69746E65 &&
      leaf.ecx == 0x444D4163) {
    return Vendor::kAmd;  // "AuthenticAMD"
  }
  return Vendor::kOther;
}

template <size_t n>
bool IsModel(const CpuIdentity& identity, const uint32_t (&models)[n]) {
  if (identity.family != 6) return false;
  for (const uint32_t model : models) {
    if (identity.model == model) return true;
  }
  return false;
}

// The levels below a package, in leaf 0x1F or 0x0B; the last level's shift
// leaves the number of the package.
bool PackageFromLevels(const Cpuid& cpuid, uint32_t leaf, uint32_t* package) {
  bool found = false;
  for (uint32_t level = 0; level < 8; ++level) {
    const CpuidRegisters registers = cpuid.Leaf(leaf, level);
    if (Bits(registers.ecx, 15, 8) == 0) break;
    *package = registers.edx >> Bits(registers.eax, 4, 0);
    found = true;
  }
  return found;
}

// The frequency of the crystal where CPUID.15H does not tell it: SDM, section
// "Determining the Processor Base Frequency".
// Skylake servers (0x55) are not here: their crystals are of 24 or 25 MHz, and
// the latter are slowed; CPUID.16H has their base frequency.
uint64_t CrystalHertz(const CpuidRegisters& leaf, const CpuIdentity& identity) {
  constexpr uint32_t kClients[] = {0x4E, 0x5E, 0x8E, 0x9E};
  constexpr uint32_t kGoldmont[] = {0x5C};
  if (leaf.ecx != 0) return leaf.ecx;
  if (IsModel(identity, kClients)) return 24'000'000;
  if (IsModel(identity, kGoldmont)) return 19'200'000;
  return 0;
}

// Bits 15:8 are the base frequency, in multiples of the bus clock.
uint64_t PlatformHertz(const Cpuid& cpuid, const MsrAccess& msrs,
                       const CpuIdentity& identity) {
  constexpr uint32_t kNehalemAndWestmere[] = {0x1A, 0x1E, 0x1F, 0x2E,
                                              0x25, 0x2C, 0x2F};
  uint64_t info = 0;
  if (IsModel(identity, kNehalemAndWestmere)) {
    if (!msrs.Read(msr::kPlatformInfo, &info)) return 0;
    return Bits(info, 15, 8) * 400'000'000 / 3;
  }
  // The bus clock is 100 MHz from Sandy Bridge, the first CPU with AVX. Atoms
  // without AVX have other clocks.
  const bool has_avx = Bit(cpuid.Leaf(1).ecx, 28);
  if (!has_avx || !msrs.Read(msr::kPlatformInfo, &info)) return 0;
  return Bits(info, 15, 8) * 100'000'000;
}

CpuIdentity ReadIdentity(const Cpuid& cpuid) {
  CpuIdentity identity;
  identity.vendor = ReadVendor(cpuid.Leaf(0));
  const uint32_t signature = cpuid.Leaf(1).eax;
  identity.stepping = Bits(signature, 3, 0);
  identity.model = Bits(signature, 7, 4);
  identity.family = Bits(signature, 11, 8);
  const bool has_extended_model =
      identity.family == 0xF ||
      (identity.family == 6 && identity.vendor == Vendor::kIntel);
  if (has_extended_model) identity.model |= Bits(signature, 19, 16) << 4;
  if (identity.family == 0xF) identity.family += Bits(signature, 27, 20);
  return identity;
}

// As in CpuDescription.
uint32_t CoreType(const Cpuid& cpuid) {
  const bool is_hybrid = Bit(cpuid.Leaf(7).edx, 15);
  return is_hybrid ? Bits(cpuid.Leaf(0x1A).eax, 31, 24) : 0;
}

uint32_t Package(const Cpuid& cpuid) {
  uint32_t package = 0;
  if (PackageFromLevels(cpuid, 0x1F, &package) ||
      PackageFromLevels(cpuid, 0x0B, &package)) {
    return package;
  }
  const CpuidRegisters leaf = cpuid.Leaf(1);
  const bool has_threads = Bit(leaf.edx, 28);
  const uint32_t threads = has_threads ? Bits(leaf.ebx, 23, 16) : 1;
  uint32_t shift = 0;
  while ((uint32_t{1} << shift) < threads) ++shift;
  return Bits(leaf.ebx, 31, 24) >> shift;
}

// Of an Intel CPU, from CPUID.15H, CPUID.16H or MSR_PLATFORM_INFO, whichever
// comes first. 0 if all are silent.
uint64_t TscHertz(const Cpuid& cpuid, const MsrAccess& msrs,
                  const CpuIdentity& identity) {
  const CpuidRegisters ratio = cpuid.Leaf(0x15);
  const uint64_t crystal = CrystalHertz(ratio, identity);
  if (ratio.eax != 0 && ratio.ebx != 0 && crystal != 0) {
    return crystal * ratio.ebx / ratio.eax;
  }
  const uint64_t base_megahertz = Bits(cpuid.Leaf(0x16).eax, 15, 0);
  if (base_megahertz != 0) return base_megahertz * 1'000'000;
  return PlatformHertz(cpuid, msrs, identity);
}

// Whether an Intel CPU counts energy in 2^n microjoules, which the protocol
// does not express: Silvermont and Airmont.
bool CountsEnergyInMicrojoules(const CpuIdentity& identity) {
  constexpr uint32_t kModels[] = {0x37, 0x4A, 0x4C, 0x5A, 0x5D};
  return IsModel(identity, kModels);
}

// Whether the unit of memory energy is 15.3 microjoules (2^-16 J), whatever the
// CPU's energy unit: servers from Haswell to Ice Lake, and Xeon Phi.
bool HasFixedMemoryEnergyUnit(const CpuIdentity& identity) {
  constexpr uint32_t kModels[] = {0x3F, 0x4F, 0x56, 0x55,
                                  0x6A, 0x6C, 0x57, 0x85};
  return IsModel(identity, kModels);
}

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
