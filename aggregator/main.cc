// fleetperf-aggregator: receives and stores a fleet's samples and answers
// queries.

#include <string>

#include "aggregator/aggregator.h"
#include "aggregator/check.h"
#include "aggregator/config.h"
#include "aggregator/config_keys.h"
#include "aggregator/store_commands.h"
#include "base/config/config_reload.h"
#include "base/daemon/daemon.h"
#include "base/daemon/service_notifier.h"
#include "base/log.h"
#include "base/logging.h"
#include "base/os/os.h"
#include "base/rpc/rpc_log.h"
#include "base/status_macros.h"

namespace fleetperf {
namespace {

// The unit's TimeoutStopSec= is longer.
constexpr absl::Duration kStopTime = absl::Seconds(100);

// Keeps the current configuration if the file is wrong.
void Reload(const std::string& config_path, aggregator::Aggregator* running,
            ConfigSettings* in_force) {
  const auto config = aggregator::LoadConfig(config_path);
  if (!config.ok()) {
    LogError("keeping the current configuration: ", config.status().message());
    return;
  }
  SetLogLevel(config->log);
  running->Reload(*config);
  LogReload(config_path, aggregator::ConfigKeys(), config->settings, in_force);
}

absl::Status Run(const std::string& config_path, StopSignal& stop) {
  ShareHeaps();
  RETURN_IF_ERROR(stop.EndWithin(kStopTime));
  stop.AcceptReload();
  ASSIGN_OR_RETURN(const aggregator::Config config,
                   aggregator::LoadConfig(config_path));
  RETURN_IF_ERROR(StartLogging("fleetperf-aggregator", config.log));
  SendRpcLogs();
  ASSIGN_OR_RETURN(const auto running, aggregator::Aggregator::Start(config));
  const ServiceNotifier notifier([&] { running->Probe(); });
  ConfigSettings in_force = config.settings;
  while (stop.WaitForReload()) {
    Reload(config_path, running.get(), &in_force);
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace fleetperf

int main(int argc, char** argv) {
  std::string directory;
  return fleetperf::RunDaemon(
      {.name = "fleetperf-aggregator",
       .purpose = "Receives and stores the performance counters of a fleet "
                  "and answers queries.",
       .commands =
           {{.name = "check",
             .help = "Look for what would keep the aggregator from starting "
                     "or make it fail later; it must not be running",
             .run =
                 [](const std::string& config_path) {
                   return fleetperf::aggregator::CheckCommand(config_path);
                 },
             .examples =
                 "  fleetperf-aggregator check --config aggregator.yaml\n"},
            {.name = "verify",
             .help = "Read the whole store, or a backup, and report damage; "
                     "the aggregator must not be running",
             .run =
                 [&](const std::string& config_path) {
                   return fleetperf::aggregator::VerifyCommand(config_path,
                                                               directory);
                 },
             .arguments = {{.name = "DIRECTORY",
                            .help = "A backup to verify instead of the store",
                            .value = &directory}},
             .examples =
                 "  fleetperf-aggregator verify --config aggregator.yaml\n"
                 "  fleetperf-aggregator verify /backup/monday --config "
                 "aggregator.yaml\n"},
            {.name = "repair",
             .help = "Make a damaged store usable, and say what is lost; the "
                     "aggregator must not be running",
             .run = fleetperf::aggregator::RepairCommand,
             .examples =
                 "  fleetperf-aggregator repair --config aggregator.yaml\n"},
            {.name = "restore",
             .help = "Restore the store from a backup that \"fleetperf "
                     "backup\" made; the store must not exist yet",
             .run =
                 [&](const std::string& config_path) {
                   return fleetperf::aggregator::RestoreCommand(config_path,
                                                                directory);
                 },
             .arguments = {{.name = "DIRECTORY",
                            .help = "The backup",
                            .value = &directory,
                            .required = true}},
             .examples =
                 "  fleetperf-aggregator restore /backup/monday --config "
                 "aggregator.yaml\n"
                 "To make a backup: fleetperf backup --help\n"}},
       .examples =
           "  fleetperf-aggregator --config /etc/fleetperf/aggregator.yaml\n"
           "  fleetperf-aggregator check --config aggregator.yaml\n"
           "  fleetperf-aggregator verify --config aggregator.yaml\n"
           "  fleetperf-aggregator verify /backup/monday --config "
           "aggregator.yaml\n"
           "  fleetperf-aggregator repair --config aggregator.yaml\n"
           "  fleetperf-aggregator restore /backup/monday --config "
           "aggregator.yaml\n"},
      argc, argv, fleetperf::Run);
}
