// Chooses what the counters of a type of core count.

#ifndef FLEETPERF_DRIVER_HARDWARE_COUNTER_PROGRAM_H_
#define FLEETPERF_DRIVER_HARDWARE_COUNTER_PROGRAM_H_

#include <cstdint>
#include <string>
#include <vector>

#include "driver/hardware/hardware_counts.h"
#include "driver/pmu/protocol.h"

namespace fleetperf::hardware {

// Where a count is in pmu::CpuCounts.
struct CountSource {
  enum class Place { kGeneral, kFixed, kMaximumPerformance };

  HardwareCount count;
  Place place;
  uint32_t counter = 0;  // general or fixed
  std::string event;     // the vendor's name

  uint64_t ValueIn(const pmu::CpuCounts& counts) const;
};

struct CounterProgram {
  pmu::CoreProgram core;
  std::vector<CountSource> sources;
};

// Every event has a counter for itself, so that nothing is scaled. Intel's
// fixed counters count instructions, cycles and reference cycles. On AMD, and
// on CPUs without a fixed counter, general counters count instructions and
// cycles, and MPERF the reference cycles. The other general counters take, as
// far as there are any and the model has the events: references and misses of
// the last-level cache, branches and wrong predictions, hits and misses of the
// second level, loads and misses of the first level.
CounterProgram ChooseProgram(const pmu::Description& machine,
                             const pmu::CpuDescription& cpu);

}  // namespace fleetperf::hardware

#endif  // FLEETPERF_DRIVER_HARDWARE_COUNTER_PROGRAM_H_
