// What Linux tells of the processors: PCM's banner.

#ifndef FLEETPERF_DRIVER_PMC_BANNER_LINUX_H_
#define FLEETPERF_DRIVER_PMC_BANNER_LINUX_H_

#include <vector>

#include "driver/perf_event/system.h"
#include "driver/pmc/machine.h"

namespace fleetperf::pmc {

// Returns, as far as the machine tells them:
//   processors  "2 sockets, 32 cores, 64 threads", online ones, from
//               /sys/devices/system/cpu/cpuN/topology
//   caches      "L1d 32 KiB x 32, L3 24576 KiB x 2", from .../cpuN/cache
//   TDP         "165 W for each of 2 packages", from the long-term constraint
//               of intel-rapl in /sys/class/powercap
std::vector<Fact> Banner(perf_event::System& system);

}  // namespace fleetperf::pmc

#endif  // FLEETPERF_DRIVER_PMC_BANNER_LINUX_H_
