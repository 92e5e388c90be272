// The list of the Linux countersets whose counters are fixed.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_LINUX_COUNTERSETS_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_LINUX_COUNTERSETS_H_

#include <vector>

#include "agent/source/linux/counters.h"

namespace fleetperf::agent {

// Returns them in the order of docs/reference/linux-counters.md. "Linux Perf"
// and "Hardware Counters" are not among them: plans and the PMU determine their
// counters.
std::vector<const LinuxCounterset*> LinuxCountersets();

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_LINUX_COUNTERSETS_H_
