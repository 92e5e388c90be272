#include "driver/events/events.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"

namespace fleetperf::events {
namespace {

using enum Counted;

constexpr ArchitecturalEvent kArchitectural[] = {
    {{kCycles, "CPU_CLK_UNHALTED.THREAD_P", 0x3C, 0x00}, 0},
    {{kInstructions, "INST_RETIRED.ANY_P", 0xC0, 0x00}, 1},
    {{kReferenceCycles, "CPU_CLK_UNHALTED.REF_TSC_P", 0x3C, 0x01}, 2},
    {{kL3References, "LONGEST_LAT_CACHE.REFERENCE", 0x2E, 0x4F}, 3},
    {{kL3Misses, "LONGEST_LAT_CACHE.MISS", 0x2E, 0x41}, 4},
    {{kBranches, "BR_INST_RETIRED.ALL_BRANCHES", 0xC4, 0x00}, 5},
    {{kBranchMisses, "BR_MISP_RETIRED.ALL_BRANCHES", 0xC5, 0x00}, 6},
    {{kSlots, "TOPDOWN.SLOTS_P", 0xA4, 0x01}, 7},
};

bool Covers(const ModelEvents& row, const Core& core) {
  return row.vendor == core.vendor && row.family == core.family &&
         row.first_model <= core.model && core.model <= row.last_model &&
         row.first_stepping <= core.stepping &&
         core.stepping <= row.last_stepping &&
         (row.core_type == 0 ||
          (row.core_type == kAtomCore) == (core.core_type == kAtomCore));
}

}  // namespace

std::span<const ArchitecturalEvent> ArchitecturalEvents() {
  return kArchitectural;
}

std::span<const Event> EventsOfModel(const Core& core) {
  for (const ModelEvents& row : AllModelEvents()) {
    if (Covers(row, core)) return row.events;
  }
  return {};
}

std::vector<Event> EventsOf(const Core& core, uint32_t absent_events) {
  std::vector<Event> events;
  if (core.vendor == pmu::Vendor::kIntel) {
    for (const ArchitecturalEvent& one : kArchitectural) {
      if ((absent_events >> one.absent_bit & 1) == 0) {
        events.push_back(one.event);
      }
    }
  }
  const std::span<const Event> own = EventsOfModel(core);
  events.insert(events.end(), own.begin(), own.end());
  return events;
}

uint64_t Selection(const Event& event) {
  return pmu::kSelectUser | pmu::kSelectSystem | (event.code & 0xFF) |
         uint64_t{event.unit_mask} << 8 | uint64_t{event.code} >> 8 << 32;
}

std::string PerfName(const Event& event, const char* pmu) {
  return absl::StrFormat("%s/event=0x%02x,umask=0x%02x/", pmu, event.code,
                         event.unit_mask);
}

}  // namespace fleetperf::events
