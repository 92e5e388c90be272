// fleetperf-agent: collects the counters of a machine and sends them on.

#include "agent/agent.h"
#include "agent/config.h"
#include "base/daemon.h"
#include "base/logging.h"
#include "base/rpc_log.h"
#include "base/status_macros.h"

namespace fleetperf {
namespace {

absl::Status Run(const std::string& config_path, StopSignal& stop) {
  ASSIGN_OR_RETURN(const agent::Config config, agent::LoadConfig(config_path));
  RETURN_IF_ERROR(StartLogging("fleetperf-agent", config.log));
  SendGrpcLogsToDebug();
  ASSIGN_OR_RETURN(const auto running, agent::Agent::Start(config));
  stop.Wait();
  return absl::OkStatus();
}

}  // namespace
}  // namespace fleetperf

int main(int argc, char** argv) {
  return fleetperf::RunDaemon(
      {.name = "fleetperf-agent",
       .purpose = "Collects this machine's performance counters and streams "
                  "them to an aggregator.",
       .examples = "  fleetperf-agent --config /etc/fleetperf/agent.yaml\n"},
      argc, argv, fleetperf::Run);
}
