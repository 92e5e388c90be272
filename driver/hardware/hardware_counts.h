// What the hardware of a CPU counts, the same on all systems.

#ifndef FLEETPERF_DRIVER_HARDWARE_HARDWARE_COUNTS_H_
#define FLEETPERF_DRIVER_HARDWARE_HARDWARE_COUNTS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace fleetperf::hardware {

// The events are in count_facts.h and docs/tasks/hardware.md.
enum class HardwareCount : size_t {
  kInstructions,
  kCycles,           // while the CPU is not halted
  kReferenceCycles,  // the same at the frequency of the timestamp counter
  kTimestamp,        // cycles of the timestamp counter
  kL1Loads,
  kL1Misses,
  kL2Hits,
  kL2Misses,
  // Of a CPU, or, where the cache counts for all CPUs that share it, of all of
  // them at the first one.
  kL3References,
  kL3Misses,
  kL3Instructions,  // of the CPUs whose misses kL3Misses counts
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
  kLocalMemoryBytes,   // through the last-level cache, of the CPU's own node
  kRemoteMemoryBytes,  // likewise, of other nodes
  kTimeEnabled,        // of events, in ns
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
  std::optional<int> package;  // the socket that the CPU is in
  absl::Duration time;         // when the counts were read: Clock::Monotonic()
  std::array<std::optional<uint64_t>, kNumHardwareCounts> counts;
  // Of each of ReaderOptions::events; empty if the CPU does not count them.
  std::vector<uint64_t> chosen;
  std::optional<uint64_t> temperature;  // degrees Celsius
  // Below the temperature at which the CPU throttles.
  std::optional<uint64_t> temperature_headroom;
  // Of the last-level cache, at the first of the CPUs that share it.
  std::optional<uint64_t> l3_occupancy_bytes;
  std::optional<uint64_t> uncore_hertz;  // at the first CPU of the package
};

}  // namespace fleetperf::hardware

#endif  // FLEETPERF_DRIVER_HARDWARE_HARDWARE_COUNTS_H_
