// What perf calls the events of the table of facts on this machine.

#ifndef FLEETPERF_DRIVER_HARDWARE_LINUX_EVENT_NAMES_H_
#define FLEETPERF_DRIVER_HARDWARE_LINUX_EVENT_NAMES_H_

#include <string>
#include <vector>

#include "driver/hardware/count_facts.h"
#include "driver/hardware/hardware_counts.h"
#include "driver/perf_event/system.h"

namespace fleetperf::hardware {

struct NamedCount {
  HardwareCount count;
  std::string event;  // as perf names it
  Origin::Kind kind;  // kPerf, kCoreEvent or kL3Event
};

// The groups of CountGroups(), by the vendor and model in /proc/cpuinfo. Events
// of the model are named for each PMU that its cores may have: "cpu", or on
// hybrid CPUs "cpu_core" and "cpu_atom". The machine may lack some of the PMUs
// and events.
std::vector<std::vector<NamedCount>> NamedGroups(perf_event::System& system);

}  // namespace fleetperf::hardware

#endif  // FLEETPERF_DRIVER_HARDWARE_LINUX_EVENT_NAMES_H_
