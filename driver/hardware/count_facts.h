// The table of facts: which event counts what, by the CPU's vendor and by the
// system. The readers count what it says, and docs/tasks/hardware.md shows it.

#ifndef FLEETPERF_DRIVER_HARDWARE_COUNT_FACTS_H_
#define FLEETPERF_DRIVER_HARDWARE_COUNT_FACTS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "driver/events/events.h"
#include "driver/hardware/hardware_counts.h"
#include "driver/pmu/protocol.h"

namespace fleetperf::hardware {

// A vendor's CPU under a system, which decides how something is counted.
enum class Platform : size_t {
  kIntelLinux,
  kIntelWindows,
  kAmdLinux,
  kAmdWindows,
  kNumPlatforms
};
inline constexpr size_t kNumPlatforms =
    static_cast<size_t>(Platform::kNumPlatforms);

// What a count comes from.
struct Origin {
  enum class Kind {
    kNone,       // not counted
    kPerf,       // Linux: `name`, as perf names the event
    kCoreEvent,  // the event of CountFact::counted on this model of CPU, on a
                 // general counter
    kL3Event,    // likewise, of the PMU of each third-level cache
    kFixed,      // Windows: Intel's fixed counter `counter`; `name` is Intel's
    kMperf,      // Windows: the register MPERF
    kRegister,   // another register or file that the reader reads: `name`
  };
  Kind kind = Kind::kNone;
  const char* name = "";
  uint32_t counter = 0;
};

// If facts of one count have an origin on a platform, the first one that the
// machine has counts.
struct CountFact {
  HardwareCount count;
  std::optional<events::Counted> counted;  // what driver/events calls it
  Origin origins[kNumPlatforms];           // by Platform

  const Origin& On(Platform platform) const {
    return origins[static_cast<size_t>(platform)];
  }
};

// Facts whose events are on the PMU at the same time, so that their ratios are
// right.
struct CountGroup {
  std::span<const CountFact> facts;
  // The ratio is wanted: all facts are counted or none.
  bool is_all_or_none;
  // Linux counts the events of kIntelLinux on CPUs of all other vendors, too.
  bool is_generic;
  const char* source;
};

// The most important group comes first: if counters or descriptors are short,
// the last ones are left out.
std::span<const CountGroup> CountGroups();

// Where a value that is not a count comes from.
struct GaugeFact {
  const char* name;
  Origin origins[kNumPlatforms];  // by Platform
};
std::span<const GaugeFact> GaugeFacts();

}  // namespace fleetperf::hardware

#endif  // FLEETPERF_DRIVER_HARDWARE_COUNT_FACTS_H_
