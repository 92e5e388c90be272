// fleetperf-agent: collects a machine's performance counters and sends them to
// an aggregator.

#include <string>
#include <vector>

#include "agent/agent.h"
#include "agent/check.h"
#include "agent/config.h"
#include "agent/config_keys.h"
#include "agent/enroll.h"
#include "agent/replay.h"
#include "agent/setup.h"
#include "base/config_reload.h"
#include "base/daemon.h"
#include "base/log.h"
#include "base/logging.h"
#include "base/rpc_log.h"
#include "base/service_notifier.h"
#include "base/status_macros.h"
#include "base/utf8_arguments.h"

namespace fleetperf {
namespace {

// Keeps the current configuration if the file is wrong.
void Reload(const std::string& config_path, const agent::ConfigFlags& flags,
            agent::Agent* running, ConfigSettings* in_force) {
  const auto config = agent::LoadConfig(config_path, flags);
  if (!config.ok()) {
    LogError("keeping the current configuration: ", config.status().message());
    return;
  }
  SetLogLevel(config->log);
  running->Reload(*config);
  LogReload(config_path, agent::ConfigKeys(), config->settings, in_force);
}

absl::Status Run(const std::string& config_path,
                 const agent::ConfigFlags& flags, StopSignal& stop) {
  ASSIGN_OR_RETURN(const agent::Config config,
                   agent::LoadConfig(config_path, flags));
  RETURN_IF_ERROR(StartLogging("fleetperf-agent", config.log));
  SendRpcLogsToDebug();
  if (!config.replay_directory.empty()) {
    return agent::ReplayCapture(config, stop);
  }
  stop.AcceptReload();
  ASSIGN_OR_RETURN(const auto running, agent::Agent::Start(config));
  const ServiceNotifier notifier([&] { running->Probe(); });
  ConfigSettings in_force = config.settings;
  while (stop.WaitForReload()) {
    Reload(config_path, flags, running.get(), &in_force);
  }
  return absl::OkStatus();
}

struct EnrollArguments {
  std::string address;
  std::string token;
};

// The arguments must outlive the commands.
std::vector<DaemonCommand> Commands(const agent::ConfigFlags& flags,
                                    EnrollArguments* enroll) {
  std::vector<DaemonCommand> commands = agent::SetupCommands();
  commands.insert(
      commands.begin(),
      {.name = "check",
       .help = "Show the counters that this configuration finds, and any "
               "problems",
       .run = [&flags](const std::string& config_path) -> absl::Status {
         ASSIGN_OR_RETURN(const agent::Config config,
                          agent::LoadConfig(config_path, flags));
         return agent::Check(config);
       }});
  commands.push_back(
      {.name = "enroll",
       .help = "Get this machine's certificate with a token of \"fleetperf pki "
               "token\"",
       .run = [&flags, enroll](const std::string& config_path) -> absl::Status {
         ASSIGN_OR_RETURN(const agent::Config config,
                          agent::LoadConfig(config_path, flags));
         return agent::Enroll(config, enroll->address, enroll->token);
       },
       .arguments = {{.name = "ADDRESS",
                      .help = "The server, fleetperf pki serve: host:port",
                      .value = &enroll->address,
                      .required = true},
                     {.name = "TOKEN",
                      .help = "The token",
                      .value = &enroll->token,
                      .required = true}}});
  return commands;
}

}  // namespace
}  // namespace fleetperf

int main(int argc, char** argv) {
  fleetperf::ArgumentVector arguments(fleetperf::Utf8Arguments(argc, argv));
  fleetperf::agent::ConfigFlags flags;
  fleetperf::EnrollArguments enroll;
  return fleetperf::RunDaemon(
      {.name = "fleetperf-agent",
       .purpose = "Collects this machine's performance counters and streams "
                  "them to an aggregator.",
       .flags = {{"--capture", "DIR",
                  "Write the blocks that are collected to this directory",
                  &flags.capture},
                 {"--replay", "DIR",
                  "Play the capture in this directory instead of collecting",
                  &flags.replay},
                 {"--name", "NAME", "The machine's name in the store",
                  &flags.name}},
       .commands = fleetperf::Commands(flags, &enroll),
       .examples =
           "  fleetperf-agent --config /etc/fleetperf/agent.yaml\n"
           "  fleetperf-agent enroll pki.example:7444 TOKEN --config "
           "agent.yaml\n"
           "  fleetperf-agent check --config agent.yaml\n"
           "  fleetperf-agent --config agent.yaml --capture /tmp/capture\n"
           "  fleetperf-agent --config agent.yaml --replay /tmp/capture --name "
           "web-1-incident\n"},
      arguments.argc(), arguments.argv(),
      [&flags](const std::string& config_path, fleetperf::StopSignal& stop) {
        return fleetperf::Run(config_path, flags, stop);
      });
}
