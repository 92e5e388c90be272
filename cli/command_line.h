// The command line of fleetperf.

#ifndef FLEETPERF_CLI_COMMAND_LINE_H_
#define FLEETPERF_CLI_COMMAND_LINE_H_

namespace fleetperf::cli {

// Parses the arguments, runs the command and prints errors on one line. Returns
// the exit status: 0; 1 if the command failed, also if its output could not be
// written or the arguments are invalid; 2 if something that was named does not
// exist or has no samples. `check` has its own (check.h).
int RunCommandLine(int argc, char** argv);

}  // namespace fleetperf::cli

#endif  // FLEETPERF_CLI_COMMAND_LINE_H_
