// What the hardware of a CPU counts, the same on all systems.

#ifndef FLEETPERF_DRIVER_HARDWARE_HARDWARE_COUNTS_H_
#define FLEETPERF_DRIVER_HARDWARE_HARDWARE_COUNTS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace fleetperf::hardware {

// The events are in docs/tasks/hardware.md.
enum class HardwareCount : size_t {
  kInstructions,
  kCycles,           // while the CPU is not halted
  kReferenceCycles,  // the same at the frequency of the timestamp counter
  kTimestamp,        // cycles of the timestamp counter
  kL1Loads,
  kL1Misses,
  kL2Hits,
  kL2Misses,
  kL3References,
  kL3Misses,
  kBranches,
  kBranchMisses,
  kSlots,
  kRetiring,
  kBadSpeculation,
  kFrontendBound,
  kBackendBound,
  kPackageMicrojoules,
  kMemoryMicrojoules,
  kMemoryReadBytes,
  kMemoryWriteBytes,
  kTimeEnabled,  // of events, in ns
  kTimeRunning,
  kNumCounts
};
inline constexpr size_t kNumHardwareCounts =
    static_cast<size_t>(HardwareCount::kNumCounts);

// "L3 misses".
absl::string_view NameOf(HardwareCount count);

// Counts of a CPU since any moment, which never fall. Absent counts are those
// that the machine lacks.
struct HardwareReading {
  std::optional<uint64_t>& operator[](HardwareCount count) {
    return counts[static_cast<size_t>(count)];
  }
  const std::optional<uint64_t>& operator[](HardwareCount count) const {
    return counts[static_cast<size_t>(count)];
  }

  int cpu = -1;
  absl::Duration time;  // when the counts were read: Clock::Monotonic()
  std::array<std::optional<uint64_t>, kNumHardwareCounts> counts;
  std::optional<uint64_t> temperature;  // degrees Celsius
  // Below the temperature at which the CPU throttles.
  std::optional<uint64_t> temperature_headroom;
};

}  // namespace fleetperf::hardware

#endif  // FLEETPERF_DRIVER_HARDWARE_HARDWARE_COUNTS_H_
