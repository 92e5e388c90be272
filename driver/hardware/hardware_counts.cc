#include "driver/hardware/hardware_counts.h"

#include <iterator>

namespace fleetperf::hardware {

absl::string_view NameOf(HardwareCount count) {
  static constexpr absl::string_view kNames[] = {
      "instructions",   "cycles",        "reference cycles", "timestamp",
      "L1 loads",       "L1 misses",     "L2 hits",          "L2 misses",
      "L3 references",  "L3 misses",     "L3 instructions",  "branches",
      "branch misses",  "slots",         "retiring",         "bad speculation",
      "frontend bound", "backend bound", "package energy",   "memory energy",
      "memory reads",   "memory writes", "local memory",     "remote memory",
      "time enabled",   "time running"};
  static_assert(std::size(kNames) == kNumHardwareCounts);
  return kNames[static_cast<size_t>(count)];
}

}  // namespace fleetperf::hardware
