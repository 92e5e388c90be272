#include "driver/hardware/count_facts.h"

namespace fleetperf::hardware {
namespace {

using events::Counted;
using enum HardwareCount;

constexpr Origin kNone;
constexpr Origin kCoreEvent = {.kind = Origin::Kind::kCoreEvent};
constexpr Origin kL3Event = {.kind = Origin::Kind::kL3Event};
constexpr Origin kMperf = {.kind = Origin::Kind::kMperf, .name = "MPERF"};

constexpr Origin Perf(const char* name) {
  return {.kind = Origin::Kind::kPerf, .name = name};
}
constexpr Origin Fixed(uint32_t counter, const char* name) {
  return {.kind = Origin::Kind::kFixed, .name = name, .counter = counter};
}
constexpr Origin Register(const char* name) {
  return {.kind = Origin::Kind::kRegister, .name = name};
}

// Each row: Intel on Linux, Intel on Windows, AMD on Linux, AMD on Windows.

constexpr CountFact kCore[] = {
    {kInstructions,
     Counted::kInstructions,
     {Perf("instructions"), Fixed(0, "INST_RETIRED.ANY"), Perf("instructions"),
      kCoreEvent}},
    {kInstructions, Counted::kInstructions, {kNone, kCoreEvent, kNone, kNone}},
    {kCycles,
     Counted::kCycles,
     {Perf("cpu-cycles"), Fixed(1, "CPU_CLK_UNHALTED.THREAD"),
      Perf("cpu-cycles"), kCoreEvent}},
    {kCycles, Counted::kCycles, {kNone, kCoreEvent, kNone, kNone}},
    {kReferenceCycles,
     std::nullopt,
     {Perf("ref-cycles"), Fixed(2, "CPU_CLK_UNHALTED.REF_TSC"),
      Perf("msr/mperf/"), kMperf}},
    {kReferenceCycles,
     std::nullopt,
     {kNone, kMperf, Perf("ref-cycles"), kNone}},
};

constexpr CountFact kTimestampCounter[] = {
    {kTimestamp,
     std::nullopt,
     {Register("TSC"), Register("TSC"), Register("TSC"), Register("TSC")}},
};

constexpr CountFact kL3[] = {
    {HardwareCount::kL3References,
     Counted::kL3References,
     {Perf("cache-references"), kCoreEvent, kL3Event, kNone}},
    {HardwareCount::kL3Misses,
     Counted::kL3Misses,
     {Perf("cache-misses"), kCoreEvent, kL3Event, kNone}},
};

constexpr CountFact kL2[] = {
    {kL2Hits,
     Counted::kL2Hits,
     {kCoreEvent, kCoreEvent, kCoreEvent, kCoreEvent}},
    {kL2Misses,
     Counted::kL2Misses,
     {kCoreEvent, kCoreEvent, kCoreEvent, kCoreEvent}},
};

constexpr CountFact kBranch[] = {
    {kBranches,
     Counted::kBranches,
     {Perf("branch-instructions"), kCoreEvent, Perf("branch-instructions"),
      kCoreEvent}},
    {kBranchMisses,
     Counted::kBranchMisses,
     {Perf("branch-misses"), kCoreEvent, Perf("branch-misses"), kCoreEvent}},
};

constexpr CountFact kL1[] = {
    {kL1Loads,
     Counted::kLoads,
     {kCoreEvent, kCoreEvent, kCoreEvent, kCoreEvent}},
    {kL1Misses,
     Counted::kL1Misses,
     {kCoreEvent, kCoreEvent, kCoreEvent, kCoreEvent}},
};

constexpr CountFact kPipeline[] = {
    {kSlots, std::nullopt, {Perf("cpu/slots/")}},
    {kRetiring, std::nullopt, {Perf("cpu/topdown-retiring/")}},
    {kBadSpeculation, std::nullopt, {Perf("cpu/topdown-bad-spec/")}},
    {kFrontendBound, std::nullopt, {Perf("cpu/topdown-fe-bound/")}},
    {kBackendBound, std::nullopt, {Perf("cpu/topdown-be-bound/")}},
};

constexpr CountFact kPackageEnergy[] = {
    {kPackageMicrojoules,
     std::nullopt,
     {Perf("power/energy-pkg/"), Register("PKG_ENERGY_STATUS"),
      Perf("power/energy-pkg/"), Register("PKG_ENERGY_STAT")}},
};
constexpr CountFact kMemoryEnergy[] = {
    {kMemoryMicrojoules,
     std::nullopt,
     {Perf("power/energy-ram/"), Register("DRAM_ENERGY_STATUS")}},
};

constexpr CountFact kMemoryReads[] = {
    {kMemoryReadBytes, std::nullopt, {Perf("uncore_imc/cas_count_read/")}},
    // Client CPUs before Tiger Lake.
    {kMemoryReadBytes, std::nullopt, {Perf("uncore_imc/data_reads/")}},
    {kMemoryReadBytes,
     std::nullopt,
     {Perf("uncore_imc_free_running/data_read/")}},
};
constexpr CountFact kMemoryWrites[] = {
    {kMemoryWriteBytes, std::nullopt, {Perf("uncore_imc/cas_count_write/")}},
    {kMemoryWriteBytes, std::nullopt, {Perf("uncore_imc/data_writes/")}},
    {kMemoryWriteBytes,
     std::nullopt,
     {Perf("uncore_imc_free_running/data_write/")}},
};

// Files of resctrl: see cache_monitoring.h.
constexpr CountFact kCacheTraffic[] = {
    {kLocalMemoryBytes,
     std::nullopt,
     {Register("mbm_local_bytes"), kNone, Register("mbm_local_bytes"), kNone}},
    {kRemoteMemoryBytes,
     std::nullopt,
     {Register("mbm_total_bytes"), kNone, Register("mbm_total_bytes"), kNone}},
};

constexpr GaugeFact kGauges[] = {
    {"temperature",
     {Perf("coretemp"), Register("THERM_STATUS"), Perf("k10temp"), kNone}},
    {"L3 occupancy",
     {Register("llc_occupancy"), kNone, Register("llc_occupancy"), kNone}},
    {"uncore frequency",
     {Register("intel_uncore_frequency"), kNone, kNone, kNone}},
};

constexpr bool kAllOrNone = true;
constexpr bool kGeneric = true;

// SDM is Intel's "Software Developer's Manual", volume 3, chapters "Performance
// Monitoring" and "Power and Thermal Management". APM is AMD's "Architecture
// Programmer's Manual", volume 2, chapter "Performance Monitoring". Events of
// models are held against Linux' lists: see driver/events.
constexpr CountGroup kGroups[] = {
    {kCore, !kAllOrNone, kGeneric,
     "SDM: fixed-function counters; APM: MPERF. Linux 6.12 maps ref-cycles of "
     "AMD on Zen 4 and later only, to an event that counts as MPERF does: "
     "arch/x86/events/{intel,amd}/core.c, arch/x86/events/msr.c"},
    {kTimestampCounter, !kAllOrNone, !kGeneric, "SDM, APM: RDTSC"},
    {kL3, kAllOrNone, !kGeneric,
     "SDM: architectural events. On AMD, cache-references and cache-misses are "
     "events of the second level (arch/x86/events/amd/core.c); the L3's own "
     "PMU is amd_l3 (arch/x86/events/amd/uncore.c)"},
    {kL2, kAllOrNone, !kGeneric, "driver/events"},
    {kBranch, kAllOrNone, kGeneric,
     "SDM: architectural events; driver/events; "
     "arch/x86/events/{intel,amd}/core.c"},
    {kL1, kAllOrNone, !kGeneric,
     "driver/events. Not L1-dcache-load-misses: on Intel it counts "
     "replacements, prefetched ones too; on AMD, requests to the second level "
     "(arch/x86/events/{intel,amd}/core.c)"},
    {kPipeline, !kAllOrNone, !kGeneric,
     "SDM: Performance Metrics; arch/x86/events/intel/core.c"},
    {kPackageEnergy, !kAllOrNone, !kGeneric,
     "SDM: RAPL; APM: RAPL; arch/x86/events/rapl.c"},
    {kMemoryEnergy, !kAllOrNone, !kGeneric,
     "SDM: RAPL; arch/x86/events/rapl.c"},
    {kMemoryReads, !kAllOrNone, !kGeneric,
     "arch/x86/events/intel/uncore_{snbep,snb}.c"},
    {kMemoryWrites, !kAllOrNone, !kGeneric,
     "arch/x86/events/intel/uncore_{snbep,snb}.c"},
    {kCacheTraffic, !kAllOrNone, !kGeneric,
     "Documentation/filesystems/resctrl.rst"},
};

}  // namespace

std::span<const CountGroup> CountGroups() { return kGroups; }

std::span<const GaugeFact> GaugeFacts() { return kGauges; }

}  // namespace fleetperf::hardware
