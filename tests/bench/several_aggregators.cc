// Measures what it costs to ask three aggregators instead of one.
//
//   several_aggregators [--machines N]
//
// The machines are spread evenly; each has about 100 series and sends a minute
// of ticks, one a second. Then the agents stay connected, but send nothing, so
// that they leave the processors to the commands. Each command is run at each
// aggregator alone, and at all together, in turn. Wall times are from the start
// of its process to its end, or to the first values of `watch`, and the fastest
// of 15 rounds, because other programs disturb the rest. Fails only if a
// command does.

#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "base/daemon/command_parser.h"
#include "base/rpc/rpc_log.h"
#include "base/status_macros.h"
#include "tests/bench/endless_fleet.h"
#include "tests/bench/fleetperf_process.h"
#include "tests/bench/process_usage.h"
#include "tests/bench/report.h"

namespace fleetperf::bench {
namespace {

constexpr size_t kAggregators = 3;
constexpr size_t kTwins = 10;
constexpr int kRounds = 15;
constexpr char kPath[] = R"(\Processor Information(0,0)\User Time)";

// Times in ms.
struct Cost {
  double wall = 0;
  double command = 0;  // CPU time
  double servers = 0;  // CPU time of all aggregators
};

class SeveralAggregators {
 public:
  absl::Status Start(size_t machines) {
    for (size_t i = 0; i < kAggregators; ++i) {
      ASSIGN_OR_RETURN(
          servers_.emplace_back(),
          FleetperfProcess::Make(i == 0 ? nullptr : servers_[0].get()));
      RETURN_IF_ERROR(servers_[i]->Start());
      ASSIGN_OR_RETURN(fleets_.emplace_back(),
                       EndlessFleet::Connect(
                           {.agents = machines / kAggregators / kTwins * kTwins,
                            .twins = kTwins,
                            .series = 100,
                            .names = absl::StrCat("host-", i, "-")},
                           *servers_[i]));
    }
    Progress("collecting a minute of samples");
    std::vector<std::jthread> senders;
    for (const auto& fleet : fleets_) {
      senders.emplace_back(
          [&fleet] { fleet->SendUntil(absl::Now() + absl::Minutes(1)); });
    }
    senders.clear();  // waits for them
    for (const auto& fleet : fleets_) {
      RETURN_IF_ERROR(fleet->AwaitAcknowledged());
    }
    return absl::OkStatus();
  }

  absl::Status Measure(const std::vector<std::string>& command) const {
    std::vector<std::vector<std::string>> asked(kAggregators + 1);
    for (size_t i = 0; i < kAggregators; ++i) {
      asked[i] = {"--aggregator", servers_[i]->address()};
      asked.back().insert(asked.back().end(), asked[i].begin(), asked[i].end());
    }
    const auto is_faster = [](const Cost& a, const Cost& b) {
      return a.wall < b.wall;
    };
    std::vector<Cost> fastest(asked.size(), {.wall = INFINITY});
    for (int round = 0; round < kRounds; ++round) {
      for (size_t i = 0; i < asked.size(); ++i) {
        ASSIGN_OR_RETURN(const Cost cost, Run(command, asked[i]));
        fastest[i] = std::min(fastest[i], cost, is_faster);
      }
    }
    const Cost all = fastest.back();
    const Cost slowest =
        *std::max_element(fastest.begin(), fastest.end() - 1, is_faster);
    absl::PrintF("%-69s", absl::StrJoin(command, " "));
    for (const Cost& cost : {slowest, all}) {
      absl::PrintF("%8.0f%6.0f%6.0f", cost.wall, cost.command, cost.servers);
    }
    absl::PrintF("%8.2f\n", all.wall / slowest.wall);
    std::fflush(stdout);
    return absl::OkStatus();
  }

 private:
  Cost Now() const {
    rusage usage = {};
    getrusage(RUSAGE_CHILDREN, &usage);  // of commands that have ended
    absl::Duration servers;
    for (const auto& server : servers_) servers += CpuTimeOf(server->pid());
    return {
        absl::ToDoubleMilliseconds(absl::Now() - absl::UnixEpoch()),
        absl::ToDoubleMilliseconds(absl::DurationFromTimeval(usage.ru_utime) +
                                   absl::DurationFromTimeval(usage.ru_stime)),
        absl::ToDoubleMilliseconds(servers)};
  }

  absl::StatusOr<Cost> Run(std::vector<std::string> command,
                           const std::vector<std::string>& asked) const {
    command.insert(command.end(), asked.begin(), asked.end());
    const Cost before = Now();
    const auto process = servers_[0]->StartFleetperf(command);
    bool has_answered = true;
    if (command.front() == "watch") {
      has_answered = process->WaitForOutput("host-");
      process->Signal(SIGINT);
    }
    const double wall = Now().wall - before.wall;
    has_answered = process->Wait() == 0 && has_answered;
    const Cost after = Now();
    if (!has_answered) {
      return absl::InternalError(
          absl::StrCat(command.front(), ": ", process->error()));
    }
    return Cost{command.front() == "watch" ? wall : after.wall - before.wall,
                after.command - before.command, after.servers - before.servers};
  }

  std::vector<std::unique_ptr<FleetperfProcess>> servers_;
  std::vector<std::unique_ptr<EndlessFleet>> fleets_;
};

absl::Status Run(size_t machines) {
  RETURN_IF_ERROR(CheckOpenFileLimit(machines));
  SeveralAggregators all;
  RETURN_IF_ERROR(all.Start(machines));
  absl::PrintF("%69s%20s%20s%8s\n%69s%8s%6s%6s%8s%6s%6s\n", "ms of",
               "the slowest alone", "all", "ratio", "", "wall", "CPU", "agg.",
               "wall", "CPU", "agg.");
  const std::vector<std::vector<std::string>> commands = {
      {"machines"},
      {"machines", "--format", "json"},
      {"countersets"},
      {"counters", "Process"},
      {"query", kPath, "--since", "10m", "--top", "10"},
      {"query", kPath, "--since", "10m", "--format", "csv"},
      {"watch", kPath, "--top", "10", "--format", "json"}};
  for (const auto& command : commands) RETURN_IF_ERROR(all.Measure(command));
  return absl::OkStatus();
}

}  // namespace
}  // namespace fleetperf::bench

int main(int argc, char** argv) {
  size_t machines = 10'000;
  fleetperf::Command program("several_aggregators",
                             "Measures asking three aggregators.");
  program.AddNumber("--machines", &machines, "Number of machines", 30, 100'000)
      .ShowDefault();
  if (const auto status = program.Parse(argc, argv)) return *status;
  fleetperf::SendRpcLogs();
  const absl::Status status = fleetperf::bench::Run(machines);
  if (status.ok()) return 0;
  absl::FPrintF(stderr, "several_aggregators: %s\n", status.message());
  return 1;
}
