// The counterset "Hardware Counters": its table, the same on all systems, and
// the calculation of its columns from the counts of a CPU.

#ifndef FLEETPERF_AGENT_SOURCE_HARDWARE_TABLE_H_
#define FLEETPERF_AGENT_SOURCE_HARDWARE_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "agent/source/provider.h"
#include "agent/source/totals.h"
#include "driver/hardware/hardware_counts.h"
#include "perflib/registration.h"

namespace fleetperf::agent {

perflib::CountersetRegistration HardwareRegistration();

// A count that the column shows; nothing for temperatures and bases.
std::optional<hardware::HardwareCount> HardwareCountOf(size_t column);

// How a column is combined for `_Total`; see Totals.
TotalKind HardwareTotalKind(size_t column);

// The columns of one CPU. Thread-compatible.
class HardwareColumns {
 public:
  // Sets the columns of the last row of `sample`. `time` is PerfTime100NSec.
  void Set(const hardware::HardwareReading& reading, uint64_t time,
           CountersetSample* sample);

 private:
  // The time in which the CPU was not halted, in units of 100 ns.
  uint64_t AdvanceActiveTime(const hardware::HardwareReading& reading,
                             uint64_t time);

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
