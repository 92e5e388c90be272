#include "tests/driver/ring0/cpuid_table.h"

namespace fleetperf::ring0 {
namespace {

constexpr uint32_t kLevels = 0xB;
constexpr uint32_t kNumLevels = 3;
constexpr uint32_t kExtended = 0x80000000;
constexpr uint32_t kAddressSizesLeaf = 0x80000008;
constexpr uint32_t kLastExtended = 0x80000022;

// FPU, PSE, TSC, MSR, PAE, CX8, APIC, PGE, CMOV, PAT, FXSR, SSE, SSE2.
constexpr uint32_t kBasicFeatures = 0x0701A379;
constexpr uint32_t kLongMode = 1 << 29 | 1 << 20 | 1 << 11;  // NX, SYSCALL
constexpr uint32_t kAddressSizes = 0x3024;  // 48 bits virtual, 36 physical

kvm_cpuid_entry2 Entry(const pmu::CpuModel& model, uint32_t cpu, uint32_t leaf,
                       uint32_t subleaf) {
  const pmu::CpuidRegisters answer =
      pmu::AnswerCpuid(model, cpu, leaf, subleaf);
  return {.function = leaf,
          .index = subleaf,
          .flags = leaf == kLevels ? KVM_CPUID_FLAG_SIGNIFCANT_INDEX : 0u,
          .eax = answer.eax,
          .ebx = answer.ebx,
          .ecx = answer.ecx,
          .edx = answer.edx};
}

void AddNeeded(kvm_cpuid_entry2* entry) {
  if (entry->function == 1) entry->edx |= kBasicFeatures;
  if (entry->function == kExtended) entry->eax = kLastExtended;
  if (entry->function == kExtended + 1) entry->edx |= kLongMode;
  if (entry->function == kAddressSizesLeaf) entry->eax = kAddressSizes;
}

}  // namespace

std::vector<kvm_cpuid_entry2> CpuidTable(const pmu::CpuModel& model,
                                         uint32_t cpu) {
  std::vector<kvm_cpuid_entry2> table;
  for (uint32_t leaf = 0; leaf <= model.last_leaf; ++leaf) {
    const uint32_t subleaves = leaf == kLevels ? kNumLevels : 1;
    for (uint32_t subleaf = 0; subleaf < subleaves; ++subleaf) {
      table.push_back(Entry(model, cpu, leaf, subleaf));
    }
  }
  for (const uint32_t leaf :
       {kExtended, kExtended + 1, kAddressSizesLeaf, kLastExtended}) {
    table.push_back(Entry(model, cpu, leaf, 0));
  }
  for (kvm_cpuid_entry2& entry : table) AddNeeded(&entry);
  return table;
}

}  // namespace fleetperf::ring0
