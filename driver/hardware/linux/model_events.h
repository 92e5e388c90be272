// Events that have other numbers on each model of CPU.

#ifndef FLEETPERF_DRIVER_HARDWARE_LINUX_MODEL_EVENTS_H_
#define FLEETPERF_DRIVER_HARDWARE_LINUX_MODEL_EVENTS_H_

#include <string>
#include <vector>

#include "driver/perf_event/system.h"

namespace fleetperf::hardware {

// Loads that the second-level cache served, and loads that missed it, as perf
// names the events. On AMD, all requests of data.
struct L2Events {
  std::string hits;
  std::string misses;
};

// The events of each PMU that cores of this model may have: "cpu", or on hybrid
// CPUs "cpu_core" and "cpu_atom", of which the machine may have none. Without
// those that the model lacks: see driver/events.
std::vector<L2Events> FindL2Events(perf_event::System& system);

}  // namespace fleetperf::hardware

#endif  // FLEETPERF_DRIVER_HARDWARE_LINUX_MODEL_EVENTS_H_
