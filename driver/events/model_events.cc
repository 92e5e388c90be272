#include <cstdint>
#include <span>

#include "driver/events/events.h"

namespace fleetperf::events {
namespace {

using enum Counted;

// Events that an Intel core counts by itself are in ArchitecturalEvents().

constexpr Event kNehalem[] = {
    {kLoads, "MEM_INST_RETIRED.LOADS", {0x0B, 0x01}},
    {kL1Hits, "MEM_LOAD_RETIRED.L1D_HIT", {0xCB, 0x01}},
    {kFillBufferHits, "MEM_LOAD_RETIRED.HIT_LFB", {0xCB, 0x40}},
    {kL2Hits, "MEM_LOAD_RETIRED.L2_HIT", {0xCB, 0x02}},
    {kL3LoadHits, "MEM_LOAD_RETIRED.LLC_UNSHARED_HIT", {0xCB, 0x04}},
    {kL3LoadMisses, "MEM_LOAD_RETIRED.LLC_MISS", {0xCB, 0x10}},
    {kL2ReadHits, "L2_RQSTS.LD_HIT", {0x24, 0x01}},
    {kL2ReadMisses, "L2_RQSTS.LD_MISS", {0x24, 0x02}},
};

constexpr Event kSandyBridge[] = {
    {kLoads, "MEM_UOPS_RETIRED.ALL_LOADS", {0xD0, 0x81}},
    {kL1Hits, "MEM_LOAD_UOPS_RETIRED.L1_HIT", {0xD1, 0x01}},
    {kFillBufferHits, "MEM_LOAD_UOPS_RETIRED.HIT_LFB", {0xD1, 0x40}},
    {kL2Hits, "MEM_LOAD_UOPS_RETIRED.L2_HIT", {0xD1, 0x02}},
    {kL3LoadHits, "MEM_LOAD_UOPS_RETIRED.LLC_HIT", {0xD1, 0x04}},
    {kL3LoadMisses, "MEM_LOAD_UOPS_MISC_RETIRED.LLC_MISS", {0xD4, 0x02}},
    {kL2ReadHits, "L2_RQSTS.DEMAND_DATA_RD_HIT", {0x24, 0x01}},
};

constexpr Event kSandyBridgeServer[] = {
    {kLoads, "MEM_UOPS_RETIRED.ALL_LOADS", {0xD0, 0x81}},
    {kL1Hits, "MEM_LOAD_UOPS_RETIRED.L1_HIT", {0xD1, 0x01}},
    {kFillBufferHits, "MEM_LOAD_UOPS_RETIRED.HIT_LFB", {0xD1, 0x40}},
    {kL2Hits, "MEM_LOAD_UOPS_RETIRED.L2_HIT", {0xD1, 0x02}},
    {kL3LoadHits, "MEM_LOAD_UOPS_RETIRED.LLC_HIT", {0xD1, 0x04}},
    {kL3LoadMisses, "MEM_LOAD_UOPS_RETIRED.LLC_MISS", {0xD1, 0x20}},
    {kL2ReadHits, "L2_RQSTS.DEMAND_DATA_RD_HIT", {0x24, 0x01}},
};

constexpr Event kIvyBridge[] = {
    {kLoads, "MEM_UOPS_RETIRED.ALL_LOADS", {0xD0, 0x81}},
    {kL1Hits, "MEM_LOAD_UOPS_RETIRED.L1_HIT", {0xD1, 0x01}},
    {kL1Misses, "MEM_LOAD_UOPS_RETIRED.L1_MISS", {0xD1, 0x08}},
    {kFillBufferHits, "MEM_LOAD_UOPS_RETIRED.HIT_LFB", {0xD1, 0x40}},
    {kL2Hits, "MEM_LOAD_UOPS_RETIRED.L2_HIT", {0xD1, 0x02}},
    {kL2Misses, "MEM_LOAD_UOPS_RETIRED.L2_MISS", {0xD1, 0x10}},
    {kL3LoadHits, "MEM_LOAD_UOPS_RETIRED.LLC_HIT", {0xD1, 0x04}},
    {kL3LoadMisses, "MEM_LOAD_UOPS_RETIRED.LLC_MISS", {0xD1, 0x20}},
    {kL2ReadHits, "L2_RQSTS.DEMAND_DATA_RD_HIT", {0x24, 0x01}},
};

// Haswell and Broadwell.
constexpr Event kHaswell[] = {
    {kLoads, "MEM_UOPS_RETIRED.ALL_LOADS", {0xD0, 0x81}},
    {kL1Hits, "MEM_LOAD_UOPS_RETIRED.L1_HIT", {0xD1, 0x01}},
    {kL1Misses, "MEM_LOAD_UOPS_RETIRED.L1_MISS", {0xD1, 0x08}},
    {kFillBufferHits, "MEM_LOAD_UOPS_RETIRED.HIT_LFB", {0xD1, 0x40}},
    {kL2Hits, "MEM_LOAD_UOPS_RETIRED.L2_HIT", {0xD1, 0x02}},
    {kL2Misses, "MEM_LOAD_UOPS_RETIRED.L2_MISS", {0xD1, 0x10}},
    {kL3LoadHits, "MEM_LOAD_UOPS_RETIRED.L3_HIT", {0xD1, 0x04}},
    {kL3LoadMisses, "MEM_LOAD_UOPS_RETIRED.L3_MISS", {0xD1, 0x20}},
    {kL2ReadHits, "L2_RQSTS.DEMAND_DATA_RD_HIT", {0x24, 0xC1}},
    {kL2ReadMisses, "L2_RQSTS.DEMAND_DATA_RD_MISS", {0x24, 0x21}},
};

// Skylake and later, large cores.
constexpr Event kSkylake[] = {
    {kLoads, "MEM_INST_RETIRED.ALL_LOADS", {0xD0, 0x81}},
    {kL1Hits, "MEM_LOAD_RETIRED.L1_HIT", {0xD1, 0x01}},
    {kL1Misses, "MEM_LOAD_RETIRED.L1_MISS", {0xD1, 0x08}},
    {kFillBufferHits, "MEM_LOAD_RETIRED.FB_HIT", {0xD1, 0x40}},
    {kL2Hits, "MEM_LOAD_RETIRED.L2_HIT", {0xD1, 0x02}},
    {kL2Misses, "MEM_LOAD_RETIRED.L2_MISS", {0xD1, 0x10}},
    {kL3LoadHits, "MEM_LOAD_RETIRED.L3_HIT", {0xD1, 0x04}},
    {kL3LoadMisses, "MEM_LOAD_RETIRED.L3_MISS", {0xD1, 0x20}},
    {kL2ReadHits, "L2_RQSTS.DEMAND_DATA_RD_HIT", {0x24, 0xC1}},
    {kL2ReadMisses, "L2_RQSTS.DEMAND_DATA_RD_MISS", {0x24, 0x21}},
};

constexpr Event kLionCove[] = {
    {kLoads, "MEM_INST_RETIRED.ALL_LOADS", {0xD0, 0x81}},
};

// Small cores.

constexpr Event kGoldmont[] = {
    {kLoads, "MEM_UOPS_RETIRED.ALL_LOADS", {0xD0, 0x81}},
    {kL1Hits, "MEM_LOAD_UOPS_RETIRED.L1_HIT", {0xD1, 0x01}},
    {kL1Misses, "MEM_LOAD_UOPS_RETIRED.L1_MISS", {0xD1, 0x08}},
    {kL2Hits, "MEM_LOAD_UOPS_RETIRED.L2_HIT", {0xD1, 0x02}},
    {kL2Misses, "MEM_LOAD_UOPS_RETIRED.L2_MISS", {0xD1, 0x10}},
};

constexpr Event kTremont[] = {
    {kLoads, "MEM_UOPS_RETIRED.ALL_LOADS", {0xD0, 0x81}},
    {kL1Hits, "MEM_LOAD_UOPS_RETIRED.L1_HIT", {0xD1, 0x01}},
    {kL1Misses, "MEM_LOAD_UOPS_RETIRED.L1_MISS", {0xD1, 0x08}},
    {kL2Hits, "MEM_LOAD_UOPS_RETIRED.L2_HIT", {0xD1, 0x02}},
    {kL2Misses, "MEM_LOAD_UOPS_RETIRED.L2_MISS", {0xD1, 0x10}},
    {kL3LoadHits, "MEM_LOAD_UOPS_RETIRED.L3_HIT", {0xD1, 0x04}},
};

constexpr Event kGracemont[] = {
    {kLoads, "MEM_UOPS_RETIRED.ALL_LOADS", {0xD0, 0x81}},
    {kL2Hits, "MEM_LOAD_UOPS_RETIRED.L2_HIT", {0xD1, 0x02}},
    {kL3LoadHits, "MEM_LOAD_UOPS_RETIRED.L3_HIT", {0xD1, 0x04}},
};

constexpr Event kCrestmont[] = {
    {kLoads, "MEM_UOPS_RETIRED.ALL_LOADS", {0xD0, 0x81}},
    {kL1Hits, "MEM_LOAD_UOPS_RETIRED.L1_HIT", {0xD1, 0x01}},
    {kL1Misses, "MEM_LOAD_UOPS_RETIRED.L1_MISS", {0xD1, 0x40}},
    {kL2Hits, "MEM_LOAD_UOPS_RETIRED.L2_HIT", {0xD1, 0x02}},
    {kL2Misses, "MEM_LOAD_UOPS_RETIRED.L2_MISS", {0xD1, 0x80}},
    {kL3LoadHits, "MEM_LOAD_UOPS_RETIRED.L3_HIT", {0xD1, 0x1C}},
};

constexpr Event kSkymont[] = {
    {kLoads, "MEM_UOPS_RETIRED.ALL_LOADS", {0xD0, 0x81}},
};

// AMD. Cores do not count accesses to the third level: its own PMU does, for
// all cores that share it.

constexpr Event kZen1L3[] = {
    {kL3References, "l3_accesses", {0x04, 0xFF}},
    {kL3Misses, "l3_misses", {0x04, 0x01}},
};

constexpr Event kZen3L3[] = {
    {kL3References, "l3_cache_accesses", {0x04, 0xFF}},
    {kL3Misses, "l3_misses", {0x04, 0x01}},
};

constexpr Event kZen4L3[] = {
    {kL3References,
     "l3_lookup_state.all_coherent_accesses_to_l3",
     {0x04, 0xFF}},
    {kL3Misses, "l3_lookup_state.l3_miss", {0x04, 0x01}},
};

// Zen 1 and 2.
constexpr Event kZen1[] = {
    {kCycles, "ls_not_halted_cyc", {0x76, 0}},
    {kInstructions, "ex_ret_instr", {0xC0, 0}},
    {kBranches, "ex_ret_brn", {0xC2, 0}},
    {kBranchMisses, "ex_ret_brn_misp", {0xC3, 0}},
    {kLoads, "ls_dispatch.ld_dispatch", {0x29, 0x01}},
    {kL1Misses, "ls_mab_alloc.loads", {0x41, 0x01}},
    {kL2Hits, "l2_cache_hits_from_dc_misses", {0x64, 0x70}},
    {kL2Misses, "l2_cache_misses_from_dc_misses", {0x64, 0x08}},
};

constexpr Event kZen3[] = {
    {kCycles, "ls_not_halted_cyc", {0x76, 0}},
    {kInstructions, "ex_ret_instr", {0xC0, 0}},
    {kBranches, "ex_ret_brn", {0xC2, 0}},
    {kBranchMisses, "ex_ret_brn_misp", {0xC3, 0}},
    {kLoads, "ls_dispatch.ld_dispatch", {0x29, 0x01}},
    {kL1Misses, "ls_mab_alloc.loads", {0x41, 0x01}},
    {kL2Hits, "l2_cache_hits_from_dc_misses", {0x64, 0xF0}},
    {kL2Misses, "l2_cache_misses_from_dc_misses", {0x64, 0x08}},
};

// Zen 4 and 5.
constexpr Event kZen4[] = {
    {kCycles, "ls_not_halted_cyc", {0x76, 0}},
    {kInstructions, "ex_ret_instr", {0xC0, 0}},
    {kReferenceCycles, "ls_not_halted_p0_cyc.p0_freq_cyc", {0x120, 0x01}},
    {kBranches, "ex_ret_brn", {0xC2, 0}},
    {kBranchMisses, "ex_ret_brn_misp", {0xC3, 0}},
    {kLoads, "ls_dispatch.ld_dispatch", {0x29, 0x01}},
    {kL1Misses, "ls_dmnd_fills_from_sys.all", {0x43, 0xFF}},
    {kL2Hits, "l2_cache_req_stat.dc_hit_in_l2", {0x64, 0xF0}},
    {kL2Misses, "l2_cache_req_stat.ls_rd_blk_c", {0x64, 0x08}},
};

constexpr uint32_t kLastStepping = 15;

// All steppings of a model of Intel's family 6.
constexpr ModelEvents Intel(uint32_t model, const char* list,
                            std::span<const Event> events,
                            uint32_t core_type = 0) {
  return {.vendor = pmu::Vendor::kIntel,
          .family = 6,
          .first_model = model,
          .last_model = model,
          .first_stepping = 0,
          .last_stepping = kLastStepping,
          .core_type = core_type,
          .list = list,
          .events = events};
}

constexpr ModelEvents IntelSteppings(uint32_t model, uint32_t first,
                                     uint32_t last, const char* list,
                                     std::span<const Event> events) {
  ModelEvents row = Intel(model, list, events);
  row.first_stepping = first;
  row.last_stepping = last;
  return row;
}

constexpr ModelEvents Amd(uint32_t family, uint32_t first, uint32_t last,
                          const char* list, std::span<const Event> events,
                          std::span<const Event> l3_events) {
  return {.vendor = pmu::Vendor::kAmd,
          .family = family,
          .first_model = first,
          .last_model = last,
          .first_stepping = 0,
          .last_stepping = kLastStepping,
          .core_type = 0,
          .list = list,
          .events = events,
          .l3_events = l3_events};
}

constexpr ModelEvents kModels[] = {
    Intel(0x1A, "nehalemep", kNehalem),
    Intel(0x1E, "nehalemep", kNehalem),
    Intel(0x1F, "nehalemep", kNehalem),
    Intel(0x2E, "nehalemex", kNehalem),
    Intel(0x2C, "westmereep-dp", kNehalem),
    Intel(0x25, "westmereep-sp", kNehalem),
    Intel(0x2F, "westmereex", kNehalem),
    Intel(0x2A, "sandybridge", kSandyBridge),
    Intel(0x2D, "jaketown", kSandyBridgeServer),
    Intel(0x3A, "ivybridge", kIvyBridge),
    Intel(0x3E, "ivytown", kIvyBridge),
    Intel(0x3C, "haswell", kHaswell),
    Intel(0x45, "haswell", kHaswell),
    Intel(0x46, "haswell", kHaswell),
    Intel(0x3F, "haswellx", kHaswell),
    Intel(0x3D, "broadwell", kHaswell),
    Intel(0x47, "broadwell", kHaswell),
    Intel(0x56, "broadwellde", kHaswell),
    Intel(0x4F, "broadwellx", kHaswell),
    Intel(0x4E, "skylake", kSkylake),
    Intel(0x5E, "skylake", kSkylake),
    Intel(0x8E, "skylake", kSkylake),
    Intel(0x9E, "skylake", kSkylake),
    Intel(0xA5, "skylake", kSkylake),
    Intel(0xA6, "skylake", kSkylake),
    IntelSteppings(0x55, 0, 4, "skylakex", kSkylake),
    IntelSteppings(0x55, 5, 15, "cascadelakex", kSkylake),
    Intel(0x7D, "icelake", kSkylake),
    Intel(0x7E, "icelake", kSkylake),
    Intel(0x6A, "icelakex", kSkylake),
    Intel(0x6C, "icelakex", kSkylake),
    Intel(0xA7, "rocketlake", kSkylake),
    Intel(0x8C, "tigerlake", kSkylake),
    Intel(0x8D, "tigerlake", kSkylake),
    Intel(0x8F, "sapphirerapids", kSkylake),
    Intel(0xCF, "emeraldrapids", kSkylake),
    Intel(0xAD, "graniterapids", kSkylake),
    Intel(0xAE, "graniterapids", kSkylake),
    Intel(0x97, "alderlake", kSkylake, kBigCore),
    Intel(0x9A, "alderlake", kSkylake, kBigCore),
    Intel(0xB7, "alderlake", kSkylake, kBigCore),
    Intel(0xBA, "alderlake", kSkylake, kBigCore),
    Intel(0xBF, "alderlake", kSkylake, kBigCore),
    Intel(0x97, "alderlake", kGracemont, kAtomCore),
    Intel(0x9A, "alderlake", kGracemont, kAtomCore),
    Intel(0xB7, "alderlake", kGracemont, kAtomCore),
    Intel(0xBA, "alderlake", kGracemont, kAtomCore),
    Intel(0xBF, "alderlake", kGracemont, kAtomCore),
    Intel(0xAA, "meteorlake", kSkylake, kBigCore),
    Intel(0xAC, "meteorlake", kSkylake, kBigCore),
    Intel(0xAA, "meteorlake", kCrestmont, kAtomCore),
    Intel(0xAC, "meteorlake", kCrestmont, kAtomCore),
    Intel(0xBD, "lunarlake", kLionCove, kBigCore),
    Intel(0xBD, "lunarlake", kSkymont, kAtomCore),
    Intel(0x5C, "goldmont", kGoldmont),
    Intel(0x5F, "goldmont", kGoldmont),
    Intel(0x7A, "goldmontplus", kGoldmont),
    Intel(0x96, "elkhartlake", kTremont),
    Intel(0x9C, "elkhartlake", kTremont),
    Intel(0x86, "snowridgex", kTremont),
    Intel(0xBE, "alderlaken", kGracemont),
    Intel(0xB6, "grandridge", kCrestmont),
    Intel(0xAF, "sierraforest", kCrestmont),
    Amd(0x17, 0x00, 0x2F, "amdzen1", kZen1, kZen1L3),
    Amd(0x17, 0x30, 0xFF, "amdzen2", kZen1, kZen1L3),
    Amd(0x19, 0x00, 0x0F, "amdzen3", kZen3, kZen3L3),
    Amd(0x19, 0x10, 0x1F, "amdzen4", kZen4, kZen4L3),
    Amd(0x19, 0x20, 0x2F, "amdzen3", kZen3, kZen3L3),
    Amd(0x19, 0x30, 0x3F, "amdzen4", kZen4, kZen4L3),
    Amd(0x19, 0x40, 0x5F, "amdzen3", kZen3, kZen3L3),
    Amd(0x19, 0x60, 0xFF, "amdzen4", kZen4, kZen4L3),
    Amd(0x1A, 0x00, 0xFF, "amdzen5", kZen4, kZen4L3),
};

}  // namespace

std::span<const ModelEvents> AllModelEvents() { return kModels; }

}  // namespace fleetperf::events
