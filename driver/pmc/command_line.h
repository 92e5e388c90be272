// The command line of fleetperf-pmc.

#ifndef FLEETPERF_DRIVER_PMC_COMMAND_LINE_H_
#define FLEETPERF_DRIVER_PMC_COMMAND_LINE_H_

#include "driver/pmc/machine.h"

namespace fleetperf::pmc {

// Parses the arguments, runs the command and prints errors on one line. Returns
// the exit status: 0; 1 if the command failed or the arguments are invalid;
// that of its command for `stat`.
int RunCommandLine(int argc, char** argv, const Machine& machine);

}  // namespace fleetperf::pmc

#endif  // FLEETPERF_DRIVER_PMC_COMMAND_LINE_H_
