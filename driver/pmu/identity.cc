#include "driver/pmu/identity.h"

#include <stddef.h>

#include "driver/pmu/msr.h"

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

}  // namespace

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

bool CountsEnergyInMicrojoules(const CpuIdentity& identity) {
  constexpr uint32_t kModels[] = {0x37, 0x4A, 0x4C, 0x5A, 0x5D};
  return IsModel(identity, kModels);
}

bool HasFixedMemoryEnergyUnit(const CpuIdentity& identity) {
  constexpr uint32_t kModels[] = {0x3F, 0x4F, 0x56, 0x55,
                                  0x6A, 0x6C, 0x57, 0x85};
  return IsModel(identity, kModels);
}

}  // namespace fleetperf::pmu
