// The command line of fleetperf.

#ifndef FLEETPERF_AGGREGATOR_CLI_COMMAND_LINE_H_
#define FLEETPERF_AGGREGATOR_CLI_COMMAND_LINE_H_

namespace fleetperf::cli {

// Parses the arguments, runs the command and prints errors on one line. Returns
// the exit status: 0, 1 if the command failed, 2 if the arguments are invalid.
int RunCommandLine(int argc, char** argv);

}  // namespace fleetperf::cli

#endif  // FLEETPERF_AGGREGATOR_CLI_COMMAND_LINE_H_
