#include "driver/pmc/this_cpu.h"

#include <cstdint>
#include <cstring>

#if defined(_M_X64)
#include <intrin.h>
#elif defined(__x86_64__)
#include <cpuid.h>
#endif

#include "absl/strings/ascii.h"
#include "driver/pmu/cpuid.h"
#include "driver/pmu/machine.h"

namespace fleetperf::pmc {
namespace {

// A machine in user mode: all privileged instructions fault.
class UserMode final : public pmu::Machine {
 public:
  pmu::CpuidRegisters Cpuid(uint32_t leaf, uint32_t subleaf) override {
    pmu::CpuidRegisters registers;
#if defined(_M_X64)
    int values[4];
    __cpuidex(values, static_cast<int>(leaf), static_cast<int>(subleaf));
    std::memcpy(&registers, values, sizeof(values));
#elif defined(__x86_64__)
    __cpuid_count(leaf, subleaf, registers.eax, registers.ebx, registers.ecx,
                  registers.edx);
#else
    static_cast<void>(leaf);
    static_cast<void>(subleaf);
#endif
    return registers;
  }
  bool ReadMsr(uint32_t, uint64_t*) override { return false; }
  bool WriteMsr(uint32_t, uint64_t) override { return false; }
  uint64_t ReadCr4() override { return 0; }
  bool WriteCr4(uint64_t) override { return false; }
  uint64_t ReadTsc() override { return 0; }
  uint32_t CpuLimit() override { return 1; }
  bool RunOn(uint32_t, pmu::CpuWork&) override { return false; }
  pmu::Reservation ReservePmu() override {
    return pmu::Reservation::kUnavailable;
  }
  void ReleasePmu() override {}
};

constexpr uint32_t kFirstBrandLeaf = 0x80000002;
constexpr uint32_t kLastBrandLeaf = 0x80000004;

std::string BrandOf(const pmu::Cpuid& cpuid) {
  std::string brand;
  for (uint32_t leaf = kFirstBrandLeaf; leaf <= kLastBrandLeaf; ++leaf) {
    const pmu::CpuidRegisters registers = cpuid.Leaf(leaf);
    char bytes[sizeof(registers)];
    std::memcpy(bytes, &registers, sizeof(registers));
    brand.append(bytes, sizeof(bytes));
  }
  brand.resize(std::strlen(brand.c_str()));
  return std::string(absl::StripAsciiWhitespace(brand));
}

}  // namespace

ThisCpu DescribeThisCpu() {
  UserMode machine;
  const pmu::Cpuid cpuid(machine);
  return {.brand = BrandOf(cpuid),
          .features = pmu::DetectFeatures(machine),
          .has_hypervisor = pmu::Bit(cpuid.Leaf(1).ecx, 31),
          .has_invariant_tsc = pmu::Bit(cpuid.Leaf(0x80000007).edx, 8)};
}

}  // namespace fleetperf::pmc
