// Measures the cost of a fleet for an aggregator. Each agent has its own TLS
// connection and sends at the pace of its machine, or as fast as it can. The
// baseline is the cost of gRPC and TLS alone for the same messages. Afterwards
// the store is compared with the acknowledged samples.
//
//   fleet_load [--paced | --saturated] [--agents N] [--series N] [--seconds N]
//              [--ticks-per-message N] [--watch] [--ask near|far]
//              [--no-peers]
//
// CPU times are those of the server's process, in user and kernel mode; agents
// run in this process. Only the comparison of the store can fail.

#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "base/daemon/command_parser.h"
#include "base/rpc/rpc_log.h"
#include "base/status_macros.h"
#include "tests/bench/comparison.h"
#include "tests/bench/comparison_report.h"
#include "tests/bench/fleet_cost.h"
#include "tests/bench/fleet_workload.h"
#include "tests/bench/fleetperf_server.h"
#include "tests/bench/floor_server.h"
#include "tests/bench/peers.h"
#include "tests/bench/process_usage.h"
#include "tests/bench/store_check.h"

namespace fleetperf::bench {
namespace {

struct Parameters {
  bool saturated = false;
  size_t agents = 1000;
  int series = 1000;
  size_t seconds = 40;
  int ticks_per_message = 10;
  bool watch = false;
  std::string ask;  // "near", "far" or ""
  bool no_peers = false;
};

void PrintVerified(size_t agents, uint64_t samples) {
  absl::PrintF(
      "verified: the store has exactly the %d acknowledged samples of %d "
      "agents, each once and in order\n",
      samples, agents);
}

std::optional<QuestionKind> QuestionsOf(const std::string& ask) {
  if (ask == "near") return QuestionKind::kNear;
  if (ask == "far") return QuestionKind::kFar;
  return std::nullopt;
}

absl::Status RunPaced(const Parameters& parameters) {
  const FleetLoad load = {.ticks = parameters.seconds,
                          .ticks_per_message = parameters.ticks_per_message,
                          .is_watched = parameters.watch,
                          .questions = QuestionsOf(parameters.ask)};
  const FleetWorkload fleet(parameters.series);
  const Workload workload = fleet.MakeWorkload(
      parameters.agents, load.all_ticks(load.ticks_per_message - 1),
      absl::Now());
  std::vector<FleetCost> costs;

  ASSIGN_OR_RETURN(const auto process, FleetperfProcess::Make());
  RETURN_IF_ERROR(process->Start());
  ASSIGN_OR_RETURN(costs.emplace_back(),
                   MeasureFleet("fleetperf", workload, load, *process));
  RETURN_IF_ERROR(process->Stop());
  ASSIGN_OR_RETURN(
      const uint64_t samples,
      CheckStore(
          workload, [&](size_t machine) { return load.all_ticks(machine); },
          process->store_directory()));

  ASSIGN_OR_RETURN(const auto floor, FleetperfProcess::MakeFloor());
  RETURN_IF_ERROR(floor->Start());
  FleetLoad unwatched = load;
  unwatched.is_watched = false;
  unwatched.questions.reset();
  ASSIGN_OR_RETURN(costs.emplace_back(),
                   MeasureFleet("gRPC alone", workload, unwatched, *floor));
  PrintFleet(costs);
  PrintVerified(parameters.agents, samples);
  return absl::OkStatus();
}

absl::StatusOr<Result> MeasureSaturated(const Workload& workload,
                                        int ticks_per_message, Server* server) {
  Result result = {.server = server->name()};
  ASSIGN_OR_RETURN(result.ingest,
                   MeasureIngest(workload, ticks_per_message, server));
  result.peak_memory = PeakMemoryOf(server->pid());
  ASSIGN_OR_RETURN(result.disk, server->MeasureDisk());
  return result;
}

absl::Status RunSaturated(const Parameters& parameters) {
  const FleetWorkload fleet(parameters.series);
  const Workload workload =
      fleet.MakeWorkload(parameters.agents, parameters.seconds, SomeHoursAgo());
  std::vector<Result> results;

  ASSIGN_OR_RETURN(auto process, FleetperfProcess::Make());
  RETURN_IF_ERROR(process->Start());
  const std::string directory = process->store_directory();
  ASSIGN_OR_RETURN(const auto fleetperf,
                   FleetperfServer::Connect(std::move(process)));
  ASSIGN_OR_RETURN(results.emplace_back(),
                   MeasureSaturated(workload, parameters.ticks_per_message,
                                    fleetperf.get()));
  ASSIGN_OR_RETURN(
      const uint64_t samples,
      CheckStore(
          workload, [&](size_t) { return workload.ticks; }, directory));

  std::vector<std::function<absl::StatusOr<std::unique_ptr<Server>>()>> others =
      {FloorServer::Start};
  if (!parameters.no_peers) {
    others.insert(others.end(), {StartVictoriaMetrics, StartPrometheus});
  }
  for (const auto& start : others) {
    ASSIGN_OR_RETURN(const std::unique_ptr<Server> server, start());
    ASSIGN_OR_RETURN(
        results.emplace_back(),
        MeasureSaturated(workload, parameters.ticks_per_message, server.get()));
  }
  PrintIngest(absl::StrCat(workload.name, ", ", parameters.ticks_per_message,
                           " in a message"),
              results);
  PrintVerified(parameters.agents, samples);
  return absl::OkStatus();
}

absl::Status Run(const Parameters& parameters) {
  RETURN_IF_ERROR(CheckOpenFileLimit(parameters.agents));
  if (!parameters.saturated) return RunPaced(parameters);
  if (!parameters.no_peers) RETURN_IF_ERROR(CheckPeers());
  return RunSaturated(parameters);
}

constexpr char kExamples[] = R"(
About two minutes:                   fleet_load
The goal, 10 million samples/s:      fleet_load --agents 10000 --seconds 60
The goal, with questions:            fleet_load --agents 10000 --seconds 60 --ask near
The same beside far questions:       fleet_load --agents 10000 --seconds 60 --ask far
Agents that a user watches:          fleet_load --ticks-per-message 1 --watch
With VictoriaMetrics, Prometheus:    fleet_load --saturated --agents 100 --seconds 300
)";

}  // namespace
}  // namespace fleetperf::bench

int main(int argc, char** argv) {
  fleetperf::bench::Parameters parameters;
  bool paced = false;
  fleetperf::Command program("fleet_load",
                             "Measures the cost of a fleet for an aggregator.");
  program.SetFooter(fleetperf::bench::kExamples);
  const fleetperf::Option paced_flag = program.AddFlag(
      "--paced", &paced,
      "Each machine ticks once a second and sends at its pace (default)");
  program
      .AddFlag("--saturated", &parameters.saturated,
               "Agents send as fast as they are acknowledged")
      .Exclude(paced_flag);
  program
      .AddNumber("--agents", &parameters.agents,
                 "Number of agents, each with its own connection", 1, 100'000)
      .ShowDefault();
  program
      .AddNumber("--series", &parameters.series, "Approximate series per agent",
                 100, 100'000)
      .ShowDefault();
  program
      .AddNumber("--seconds", &parameters.seconds,
                 "Ticks per agent, one per second of its time", 10, 86'400)
      .ShowDefault();
  std::string ticks_per_message = "10";
  program
      .AddText("--ticks-per-message", &ticks_per_message,
               "1, like watched agents, or 10, like all others")
      .AcceptOnly("1|10")
      .ShowDefault();
  program.AddFlag("--watch", &parameters.watch,
                  "Subscribe to a series of every machine; requires "
                  "--ticks-per-message 1 and --paced");
  program
      .AddText("--ask", &parameters.ask,
               "Ask while the agents send, and after. near: each second, by "
               "turns, for the top 10 of all machines, the average of the "
               "last minute, and the machines. far: without a pause, for "
               "the average of all processes, all samples. Requires --paced")
      .AcceptOnly("near|far");
  program.AddFlag("--no-peers", &parameters.no_peers,
                  "Omit VictoriaMetrics and Prometheus from the comparison of "
                  "--saturated");
  if (const auto status = program.Parse(argc, argv)) return *status;
  parameters.ticks_per_message = ticks_per_message == "1" ? 1 : 10;
  if (parameters.watch &&
      (parameters.saturated || parameters.ticks_per_message != 1)) {
    absl::FPrintF(stderr,
                  "fleet_load: --watch requires --ticks-per-message 1 and "
                  "--paced\n");
    return 1;
  }
  if (!parameters.ask.empty() && parameters.saturated) {
    absl::FPrintF(stderr, "fleet_load: --ask requires --paced\n");
    return 1;
  }
  fleetperf::SendRpcLogs();
  const absl::Status status = fleetperf::bench::Run(parameters);
  if (status.ok()) return 0;
  absl::FPrintF(stderr, "fleet_load: %s\n", status.message());
  return 1;
}
