// fleetperf: the command line tool.

#include "aggregator/cli/command_line.h"
#include "base/rpc_log.h"
#include "base/utf8_arguments.h"

int main(int argc, char** argv) {
  fleetperf::SendRpcLogsToDebug();
  fleetperf::ArgumentVector arguments(fleetperf::Utf8Arguments(argc, argv));
  return fleetperf::cli::RunCommandLine(arguments.argc(), arguments.argv());
}
