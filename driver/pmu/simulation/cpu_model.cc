#include "driver/pmu/simulation/cpu_model.h"

namespace fleetperf::pmu {
namespace {

constexpr CpuidRegisters kIntelName = {0, 0x756E6547, 0x6C65746E, 0x49656E69};
constexpr CpuidRegisters kAmdName = {0, 0x68747541, 0x444D4163, 0x69746E65};

uint32_t Shift(uint32_t count) {
  uint32_t shift = 0;
  while ((uint32_t{1} << shift) < count) ++shift;
  return shift;
}

// Levels of CPUID.0BH: threads of a core, cores of a die. CPUID.1FH also has
// the dies of a package.
CpuidRegisters Level(const CpuModel& model, uint32_t cpu, uint32_t subleaf,
                     bool has_dies) {
  constexpr uint32_t kDie = 5;
  const uint32_t threads = Shift(model.threads_per_core);
  const uint32_t cores = threads + Shift(model.cores_per_die);
  const uint32_t dies = cores + Shift(model.dies_per_package);
  if (subleaf == 0) return {threads, 1u << threads, 1 << 8, cpu};
  if (subleaf == 1) return {cores, 1u << cores, 2 << 8 | 1, cpu};
  if (subleaf == 2 && has_dies) return {dies, 1u << dies, kDie << 8 | 2, cpu};
  return {0, 0, subleaf, cpu};
}

CpuidRegisters Signature(const CpuModel& model, uint32_t cpu) {
  CpuidRegisters leaf;
  leaf.eax = model.signature;
  const uint32_t threads = model.threads_per_core * model.cores_per_die;
  leaf.ebx = cpu << 24 | threads << 16;
  leaf.ecx = (model.has_perf_capabilities ? 1u << 15 : 0) |
             (model.has_avx ? 1u << 28 : 0);
  leaf.edx = 1u << 28;
  return leaf;
}

CpuidRegisters Extended(const CpuModel& model, uint32_t leaf) {
  if (leaf == 0x80000000) return {0x80000022, 0, 0, 0};
  if (leaf == 0x80000022) {
    return {model.has_amd_global_control ? 1u : 0, 0, 0, 0};
  }
  if (leaf != 0x80000001) return {};
  return {0, 0, model.has_amd_counters ? 1u << 23 : 0, 0};
}

CpuModel WithCommonRegisters(CpuModel model) {
  model.has_perf_capabilities = true;
  model.has_thermal_status = true;
  model.has_actual_performance = true;
  model.temperature_target = 100 << 16;
  return model;
}

}  // namespace

CpuModel WithoutPmu() {
  CpuModel model;
  model.signature = 0x306F2;
  model.last_leaf = 0xD;
  return model;
}

CpuModel CoreDuo() {
  CpuModel model;
  model.signature = 0x6E8;
  model.last_leaf = 0xA;
  model.pmu = {0x07280201, 0, 0, 0};
  return model;
}

CpuModel Penryn() {
  CpuModel model = WithCommonRegisters({});
  model.signature = 0x10676;
  model.last_leaf = 0xA;
  model.pmu = {0x07280202, 0, 0, 0x503};
  return model;
}

CpuModel Nehalem() {
  CpuModel model = WithCommonRegisters({});
  model.signature = 0x106A5;
  model.last_leaf = 0xB;
  model.pmu = {0x07300403, 0x44, 0, 0x603};
  model.threads_per_core = 2;
  model.platform_info = 22 << 8;
  return model;
}

CpuModel HaswellServer() {
  CpuModel model = WithCommonRegisters({});
  model.signature = 0x306F2;
  model.last_leaf = 0xF;
  model.pmu = {0x07300403, 0, 0, 0x603};
  model.threads_per_core = 2;
  model.has_avx = true;
  model.perf_capabilities = 0x32C4;
  model.platform_info = 35 << 8;
  model.has_energy = true;
  model.energy_unit = 0xA0E03;
  model.has_memory_energy = true;
  return model;
}

CpuModel Skylake() {
  CpuModel model = WithCommonRegisters({});
  model.signature = 0x506E3;
  model.last_leaf = 0x16;
  model.pmu = {0x07300404, 0, 0, 0x603};
  model.tsc = {2, 334, 0, 0};
  model.base_megahertz = 4000;
  model.threads_per_core = 2;
  model.has_avx = true;
  model.perf_capabilities = 0x33C5;
  model.platform_info = 40 << 8;
  model.has_energy = true;
  model.energy_unit = 0xA0E03;
  model.has_memory_energy = true;
  return model;
}

CpuModel IceLake() {
  CpuModel model = Skylake();
  model.signature = 0x706E5;
  model.last_leaf = 0x1B;
  model.pmu = {0x08300805, 0, 0xF, 0x8604};
  model.tsc = {2, 78, 38'400'000, 0};
  model.base_megahertz = 1500;
  return model;
}

CpuModel AlderLakeCore() {
  CpuModel model = IceLake();
  model.signature = 0x90672;
  model.last_leaf = 0x20;
  model.tsc = {2, 166, 38'400'000, 0};
  model.base_megahertz = 3200;
  model.cores_per_die = 16;
  model.is_hybrid = true;
  model.core_type = 0x40;
  return model;
}

CpuModel AlderLakeAtom() {
  CpuModel model = AlderLakeCore();
  model.pmu = {0x07300605, 0, 0x7, 0x8603};
  model.core_type = 0x20;
  return model;
}

CpuModel Zen2() {
  CpuModel model;
  model.vendor = Vendor::kAmd;
  model.signature = 0x830F10;
  model.last_leaf = 0x10;
  model.threads_per_core = 2;
  model.has_avx = true;
  model.has_amd_counters = true;
  model.has_actual_performance = true;
  model.has_energy = true;
  model.energy_unit = 0xA1003;
  return model;
}

CpuModel Zen4() {
  CpuModel model = Zen2();
  model.signature = 0xA10F11;
  model.has_amd_global_control = true;
  return model;
}

CpuModel K10() {
  CpuModel model;
  model.vendor = Vendor::kAmd;
  model.signature = 0x100F42;
  model.last_leaf = 5;
  return model;
}

CpuidRegisters AnswerCpuid(const CpuModel& model, uint32_t cpu, uint32_t leaf,
                           uint32_t subleaf) {
  if (leaf >= 0x80000000) return Extended(model, leaf);
  // An Intel CPU answers with its last leaf beyond it.
  if (leaf > model.last_leaf) leaf = model.last_leaf;
  switch (leaf) {
    case 0: {
      CpuidRegisters name =
          model.vendor == Vendor::kAmd ? kAmdName : kIntelName;
      name.eax = model.last_leaf;
      return name;
    }
    case 1:
      return Signature(model, cpu);
    case 6:
      return {model.has_thermal_status ? 1u : 0, 0,
              model.has_actual_performance ? 1u : 0, 0};
    case 7:
      return {0, 0, 0, model.is_hybrid ? 1u << 15 : 0};
    case 0xA:
      return model.pmu;
    case 0xB:
      return Level(model, cpu, subleaf, false);
    case 0x1F:
      return model.dies_per_package == 1 ? CpuidRegisters{}
                                         : Level(model, cpu, subleaf, true);
    case 0x15:
      return model.tsc;
    case 0x16:
      return {model.base_megahertz, 0, 0, 0};
    case 0x1A:
      return {model.core_type << 24, 0, 0, 0};
    default:
      return {};
  }
}

}  // namespace fleetperf::pmu
