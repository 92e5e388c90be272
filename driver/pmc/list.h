// `fleetperf-pmc list`: what this CPU can count.

#ifndef FLEETPERF_DRIVER_PMC_LIST_H_
#define FLEETPERF_DRIVER_PMC_LIST_H_

#include <string>

#include "driver/pmc/machine.h"

namespace fleetperf::pmc {

// Returns text or one JSON object, ends with a newline. Asks CPUID, the
// operating system and the reader; programs nothing.
std::string DescribeMachine(const Machine& machine, bool json);

}  // namespace fleetperf::pmc

#endif  // FLEETPERF_DRIVER_PMC_LIST_H_
