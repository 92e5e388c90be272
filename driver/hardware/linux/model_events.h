// Events that have other numbers on each model of CPU.

#ifndef FLEETPERF_DRIVER_HARDWARE_LINUX_MODEL_EVENTS_H_
#define FLEETPERF_DRIVER_HARDWARE_LINUX_MODEL_EVENTS_H_

#include <optional>
#include <string>

#include "driver/perf_event/system.h"

namespace fleetperf::hardware {

// Loads that the second-level cache served, and loads that missed it, as perf
// names the events of the PMU "cpu". On AMD, all requests of data.
struct L2Events {
  std::string hits;
  std::string misses;
};

// std::nullopt if the model is not known: see driver/events.
std::optional<L2Events> FindL2Events(perf_event::System& system);

}  // namespace fleetperf::hardware

#endif  // FLEETPERF_DRIVER_HARDWARE_LINUX_MODEL_EVENTS_H_
