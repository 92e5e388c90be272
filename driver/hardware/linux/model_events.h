// Events that have other numbers on each model of CPU.

#ifndef FLEETPERF_DRIVER_HARDWARE_LINUX_MODEL_EVENTS_H_
#define FLEETPERF_DRIVER_HARDWARE_LINUX_MODEL_EVENTS_H_

#include <optional>

#include "driver/perf_event/system.h"

namespace fleetperf::hardware {

// Loads that the second-level cache served, and loads that missed it, as perf
// names the events.
struct L2Events {
  const char* hits;
  const char* misses;
};

// std::nullopt if the model is not known. Source: Intel's event lists
// (MEM_LOAD_RETIRED.L2_HIT and L2_MISS), which agree from Skylake on.
std::optional<L2Events> FindL2Events(perf_event::System& system);

}  // namespace fleetperf::hardware

#endif  // FLEETPERF_DRIVER_HARDWARE_LINUX_MODEL_EVENTS_H_
