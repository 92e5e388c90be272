// fleetperf-agent: collects a machine's performance counters and sends them to
// an aggregator.

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "agent/agent.h"
#include "agent/check.h"
#include "agent/config.h"
#include "agent/config_keys.h"
#include "agent/enroll.h"
#include "agent/host_name.h"
#include "agent/replay.h"
#include "agent/setup.h"
#include "base/config/config_reload.h"
#include "base/daemon/daemon.h"
#include "base/daemon/service_notifier.h"
#include "base/log.h"
#include "base/logging.h"
#include "base/os/utf8_arguments.h"
#include "base/rpc/rpc_log.h"
#include "base/status_macros.h"

namespace fleetperf {
namespace {

// The interval at which the host's name is read, if the agent has that name.
constexpr absl::Duration kNameInterval = absl::Seconds(1);
// The unit's TimeoutStopSec= is longer.
constexpr absl::Duration kStopTime = absl::Seconds(20);

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

// Waits until the agent may collect under its name. Returns false if it is
// stopped first. Reads the configuration again, because its name may be set.
bool AwaitName(const std::string& config_path, const agent::ConfigFlags& flags,
               StopSignal& stop, agent::Config* config) {
  LogOncePerCause log;
  for (;;) {
    const absl::Status named = agent::CheckHostIsNamed(*config);
    if (named.ok()) return true;
    log.Warn("name", named.message());
    if (stop.WaitFor(kNameInterval) == StopSignal::Request::kStop) return false;
    auto loaded = agent::LoadConfig(config_path, flags);
    if (loaded.ok()) *config = *std::move(loaded);
  }
}

// The agent, which is replaced when the host gets another name. Probe is
// thread-safe.
class NamedAgent {
 public:
  // `on_stuck` is that of Agent::Start.
  explicit NamedAgent(std::function<void()> on_stuck)
      : on_stuck_(std::move(on_stuck)) {}

  absl::Status Start(const agent::Config& config) {
    Set(nullptr);  // the next one uses its spool
    ASSIGN_OR_RETURN(auto started, agent::Agent::Start(config, on_stuck_));
    Set(std::move(started));
    return absl::OkStatus();
  }

  // Not null after Start has succeeded.
  agent::Agent* running() {
    absl::MutexLock lock(&mutex_);
    return running_.get();
  }

  void Probe() {
    absl::MutexLock lock(&mutex_);
    if (running_ != nullptr) running_->Probe();
  }

 private:
  void Set(std::unique_ptr<agent::Agent> running) {
    absl::MutexLock lock(&mutex_);
    running_ = std::move(running);
  }

  const std::function<void()> on_stuck_;
  absl::Mutex mutex_;
  std::unique_ptr<agent::Agent> running_ ABSL_GUARDED_BY(mutex_);
};

// Restarts the agent under the host's name if only that is in the certificate.
absl::Status AdoptName(const std::string& config_path,
                       const agent::ConfigFlags& flags, agent::Config* config,
                       NamedAgent* named) {
  if (!agent::HasBetterHostName(*config)) return absl::OkStatus();
  auto loaded = agent::LoadConfig(config_path, flags);
  if (!loaded.ok()) return absl::OkStatus();  // with the next look
  LogInfo("the host's name was ", config->name, ", and is ", loaded->name,
          ", as in the certificate");
  *config = *std::move(loaded);
  return named->Start(*config);
}

absl::Status Stuck() {
  return absl::UnavailableError(
      "the process can no longer connect to an aggregator; a new one sends the "
      "samples in state_directory");
}

absl::Status Run(const std::string& config_path,
                 const agent::ConfigFlags& flags, StopSignal& stop) {
  RETURN_IF_ERROR(stop.EndWithin(kStopTime));
  ASSIGN_OR_RETURN(agent::Config config, agent::LoadConfig(config_path, flags));
  RETURN_IF_ERROR(StartLogging("fleetperf-agent", config.log));
  SendRpcLogs();
  if (!config.replay_directory.empty()) {
    return agent::ReplayCapture(config, stop);
  }
  stop.AcceptReload();
  if (!AwaitName(config_path, flags, stop, &config)) return absl::OkStatus();
  std::atomic<bool> is_stuck = false;
  NamedAgent named([&] {
    is_stuck = true;
    stop.Raise();
  });
  RETURN_IF_ERROR(named.Start(config));
  const ServiceNotifier notifier([&] { named.Probe(); });
  ConfigSettings in_force = config.settings;
  for (;;) {
    switch (stop.WaitFor(config.is_named ? absl::InfiniteDuration()
                                         : kNameInterval)) {
      case StopSignal::Request::kStop:
        return is_stuck ? Stuck() : absl::OkStatus();
      case StopSignal::Request::kReload:
        Reload(config_path, flags, named.running(), &in_force);
        break;
      case StopSignal::Request::kNone:
        RETURN_IF_ERROR(AdoptName(config_path, flags, &config, &named));
    }
  }
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
       },
       .examples = "  fleetperf-agent check --config agent.yaml\n"});
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
                      .required = true}},
       .examples =
           "  fleetperf-agent enroll pki.example:7444 TOKEN --config "
           "agent.yaml\n"
           "  fleetperf-agent enroll pki.example:7444 TOKEN --name web-1 "
           "--config agent.yaml\n"
           "On the machine with the authority:\n"
           "  fleetperf pki token web-1\n"
           "  fleetperf pki serve --listen 0.0.0.0:7444\n"});
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
