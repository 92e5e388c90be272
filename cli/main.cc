// fleetperf: the command line tool.

#include "absl/synchronization/mutex.h"
#include "base/logging.h"
#include "base/os/utf8_arguments.h"
#include "base/rpc/rpc_log.h"
#include "cli/command_line.h"

int main(int argc, char** argv) {
  // See base/daemon/daemon.cc.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  // A log without a file cannot fail. The default one is on standard output.
  fleetperf::StartLogging("fleetperf", {.level = "warning"}).IgnoreError();
  fleetperf::SendRpcLogs();
  fleetperf::ArgumentVector arguments(fleetperf::Utf8Arguments(argc, argv));
  return fleetperf::cli::RunCommandLine(arguments.argc(), arguments.argv());
}
