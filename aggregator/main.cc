// fleetperf-aggregator: receives and stores a fleet's samples and answers
// queries.

#include <spdlog/spdlog.h>

#include <utility>

#include "aggregator/aggregator.h"
#include "aggregator/check.h"
#include "aggregator/config.h"
#include "aggregator/repair_command.h"
#include "aggregator/restore_command.h"
#include "aggregator/verify_command.h"
#include "base/daemon.h"
#include "base/logging.h"
#include "base/rpc_log.h"
#include "base/status_macros.h"

namespace fleetperf {
namespace {

// Reloads the plans, the only settings that can change at run time.
void Reload(const std::string& config_path, aggregator::Aggregator* running) {
  auto config = aggregator::LoadConfig(config_path);
  if (!config.ok()) {
    spdlog::error("keeping the current plans: {}",
                  std::string(config.status().message()));
    return;
  }
  running->SetPlans(std::move(config->plans));
  spdlog::info("reloaded the plans in {}", config_path);
}

absl::Status Run(const std::string& config_path, StopSignal& stop) {
  stop.AcceptReload();
  ASSIGN_OR_RETURN(const aggregator::Config config,
                   aggregator::LoadConfig(config_path));
  RETURN_IF_ERROR(StartLogging("fleetperf-aggregator", config.log));
  SendRpcLogsToDebug();
  ASSIGN_OR_RETURN(const auto running, aggregator::Aggregator::Start(config));
  while (stop.WaitForReload()) Reload(config_path, running.get());
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
                 }},
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
                            .value = &directory}}},
            {.name = "repair",
             .help = "Make a damaged store usable, and say what is lost; the "
                     "aggregator must not be running",
             .run = fleetperf::aggregator::RepairCommand},
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
                            .required = true}}}},
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
