#include "driver/events/events.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"

namespace fleetperf::events {
namespace {

using enum Counted;

constexpr ArchitecturalEvent kArchitectural[] = {
    {{kCycles, "CPU_CLK_UNHALTED.THREAD_P", {0x3C, 0x00}}, 0},
    {{kInstructions, "INST_RETIRED.ANY_P", {0xC0, 0x00}}, 1},
    {{kReferenceCycles, "CPU_CLK_UNHALTED.REF_TSC_P", {0x3C, 0x01}}, 2},
    {{kL3References, "LONGEST_LAT_CACHE.REFERENCE", {0x2E, 0x4F}}, 3},
    {{kL3Misses, "LONGEST_LAT_CACHE.MISS", {0x2E, 0x41}}, 4},
    {{kBranches, "BR_INST_RETIRED.ALL_BRANCHES", {0xC4, 0x00}}, 5},
    {{kBranchMisses, "BR_MISP_RETIRED.ALL_BRANCHES", {0xC5, 0x00}}, 6},
    {{kSlots, "TOPDOWN.SLOTS_P", {0xA4, 0x01}}, 7},
};

bool Covers(const ModelEvents& row, const Core& core) {
  return row.vendor == core.vendor && row.family == core.family &&
         row.first_model <= core.model && core.model <= row.last_model &&
         row.first_stepping <= core.stepping &&
         core.stepping <= row.last_stepping &&
         (row.core_type == 0 ||
          (row.core_type == kAtomCore) == (core.core_type == kAtomCore));
}

const ModelEvents* RowOf(const Core& core) {
  for (const ModelEvents& row : AllModelEvents()) {
    if (Covers(row, core)) return &row;
  }
  return nullptr;
}

// Returns the bits that select the event in a register of the CPU.
uint64_t CodeBits(EventCode code) {
  return (code.event & 0xFF) | uint64_t{code.unit_mask} << 8 |
         uint64_t{code.event} >> 8 << 32;
}

}  // namespace

std::span<const ArchitecturalEvent> ArchitecturalEvents() {
  return kArchitectural;
}

std::span<const Event> EventsOfModel(const Core& core) {
  const ModelEvents* const row = RowOf(core);
  return row == nullptr ? std::span<const Event>() : row->events;
}

std::span<const Event> L3EventsOfModel(const Core& core) {
  const ModelEvents* const row = RowOf(core);
  return row == nullptr ? std::span<const Event>() : row->l3_events;
}

const char* ListOfModel(const Core& core) {
  for (const ModelEvents& row : AllModelEvents()) {
    if (Covers(row, core)) return row.list;
  }
  return "";
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

uint64_t Selection(EventCode code) {
  return pmu::kSelectUser | pmu::kSelectSystem | CodeBits(code);
}

std::string PerfName(EventCode code, const char* pmu) {
  return absl::StrFormat("%s/event=0x%02x,umask=0x%02x/", pmu, code.event,
                         code.unit_mask);
}

std::string RawName(EventCode code) {
  return absl::StrFormat("r%x", CodeBits(code));
}

std::string CodeText(EventCode code) {
  return absl::StrFormat("%02X/%02X", code.event, code.unit_mask);
}

std::optional<EventCode> ParseCode(absl::string_view text) {
  const auto is_hexadecimal = [](absl::string_view digits) {
    return std::all_of(digits.begin(), digits.end(),
                       [](unsigned char c) { return absl::ascii_isxdigit(c); });
  };
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits('/', 1));
  uint32_t event = 0;
  uint32_t unit_mask = 0;
  if ((parts.first.size() != 2 && parts.first.size() != 3) ||
      parts.second.size() != 2 || !is_hexadecimal(parts.first) ||
      !is_hexadecimal(parts.second) ||
      !absl::SimpleHexAtoi(parts.first, &event) ||
      !absl::SimpleHexAtoi(parts.second, &unit_mask)) {
    return std::nullopt;
  }
  return EventCode{static_cast<uint16_t>(event),
                   static_cast<uint8_t>(unit_mask)};
}

}  // namespace fleetperf::events
