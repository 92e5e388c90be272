// The terminal on standard output, if there is one.

#ifndef FLEETPERF_DRIVER_PMC_TERMINAL_H_
#define FLEETPERF_DRIVER_PMC_TERMINAL_H_

namespace fleetperf::pmc {

// Whether standard output is a terminal that can move its cursor. Prepares a
// Windows console for escape sequences.
bool CanMoveCursor();

}  // namespace fleetperf::pmc

#endif  // FLEETPERF_DRIVER_PMC_TERMINAL_H_
