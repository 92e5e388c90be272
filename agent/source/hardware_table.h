// The counterset "Hardware Counters": its table, the same on all systems, and
// the calculation of its columns from the counts of a CPU.

#ifndef FLEETPERF_AGENT_SOURCE_HARDWARE_TABLE_H_
#define FLEETPERF_AGENT_SOURCE_HARDWARE_TABLE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "agent/source/provider.h"
#include "perflib/registration.h"

namespace fleetperf::agent {

// What hardware counts. The events and formulas are in
// docs/tasks/hardware.md.
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

// Counts of a CPU since any moment, which never fall. Absent counts are those
// that the machine lacks.
struct HardwareReading {
  std::optional<uint64_t>& operator[](HardwareCount count) {
    return counts[static_cast<size_t>(count)];
  }
  const std::optional<uint64_t>& operator[](HardwareCount count) const {
    return counts[static_cast<size_t>(count)];
  }

  std::array<std::optional<uint64_t>, kNumHardwareCounts> counts;
  std::optional<uint64_t> temperature;  // degrees Celsius
};

perflib::CountersetRegistration HardwareRegistration();

// How the columns are combined for `_Total`; see Totals.
bool IsHardwareGauge(size_t column);

// The columns of one CPU. Thread-compatible.
class HardwareColumns {
 public:
  // Sets the columns of the last row of `sample`. `time` is PerfTime100NSec.
  void Set(const HardwareReading& reading, uint64_t time,
           CountersetSample* sample);

 private:
  // The time in which the CPU was not halted, in units of 100 ns.
  uint64_t AdvanceActiveTime(const HardwareReading& reading, uint64_t time);

  struct Last {
    uint64_t reference_cycles;
    uint64_t timestamp;
    uint64_t time;
  };
  std::optional<Last> last_;
  uint64_t active_time_ = 0;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_HARDWARE_TABLE_H_
