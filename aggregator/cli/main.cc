// fleetperf: the command line tool.

#include "aggregator/cli/command_line.h"
#include "base/rpc_log.h"

int main(int argc, char** argv) {
  fleetperf::SendGrpcLogsToDebug();
  return fleetperf::cli::RunCommandLine(argc, argv);
}
