// Compares fleetperf, VictoriaMetrics and Prometheus: the cost of receiving the
// same samples, storing them, and answering the same queries. The servers run
// one after the other.
//
//   store_compare [--machines N] [--trace FILE] [--wide]
//
// With --wide, it is instead a fleet of 10,000 machines with few series each.
// The fleet is simulated; host_trace.h describes trace files. CPU times are
// those of the server's process, in user and kernel mode. The benchmark fails
// if a server does not have all samples or if answers differ. Costs are not
// checked.

#include <algorithm>
#include <cstdio>
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
#include "tests/bench/fleet_workload.h"
#include "tests/bench/fleetperf_server.h"
#include "tests/bench/host_trace.h"
#include "tests/bench/peers.h"
#include "tests/bench/process_usage.h"

namespace fleetperf::bench {
namespace {

// Number of queries per question, on the open connection and by processes.
struct Repetitions {
  int on_connection = 100;
  int by_command = 10;
};

Scope ScopeOf(const Workload& workload, Question question) {
  Scope scope = {.machine = absl::StrCat("host-", workload.machines / 2),
                 .start = workload.start,
                 .end = workload.end(),
                 .step = absl::Seconds(10)};
  // Rates need a sample before the first step.
  if (question == Question::kAverageRate) scope.start += scope.step;
  return scope;
}

// Returns the median lifetime of a command-line query. std::nullopt if the
// server has no such command.
absl::StatusOr<std::optional<absl::Duration>> MeasureCommand(Question question,
                                                             const Scope& scope,
                                                             int repetitions,
                                                             Server* server) {
  std::vector<absl::Duration> times;
  for (int i = 0; i < repetitions; ++i) {
    ASSIGN_OR_RETURN(const std::optional<absl::Duration> took,
                     server->AskByCommand(question, scope));
    if (!took.has_value()) return std::nullopt;
    times.push_back(*took);
  }
  std::sort(times.begin(), times.end());
  return Quantile(times, 0.5);
}

absl::Status MeasureQueries(const Workload& workload,
                            const Repetitions& repetitions, Server* server,
                            Result* result) {
  for (const Question question : kQuestions) {
    const Scope scope = ScopeOf(workload, question);
    ASSIGN_OR_RETURN(
        QueryCost cost,
        MeasureQuery(question, scope, repetitions.on_connection, server));
    ASSIGN_OR_RETURN(
        cost.command,
        MeasureCommand(question, scope, repetitions.by_command, server));
    result->queries.push_back(std::move(cost));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Server>> StartFleetperf() {
  ASSIGN_OR_RETURN(auto process, FleetperfProcess::Make());
  RETURN_IF_ERROR(process->Start());
  return FleetperfServer::Connect(std::move(process));
}

absl::StatusOr<std::vector<Result>> Compare(const Workload& workload,
                                            int ticks_per_message,
                                            std::optional<Repetitions> asked) {
  std::vector<Result> results;
  for (const auto& start :
       {StartFleetperf, StartVictoriaMetrics, StartPrometheus}) {
    ASSIGN_OR_RETURN(const std::unique_ptr<Server> server, start());
    Result result = {.server = server->name()};
    ASSIGN_OR_RETURN(result.ingest,
                     MeasureIngest(workload, ticks_per_message, server.get()));
    if (asked.has_value()) {
      RETURN_IF_ERROR(MeasureQueries(workload, *asked, server.get(), &result));
    }
    result.peak_memory = PeakMemoryOf(server->pid());
    ASSIGN_OR_RETURN(result.disk, server->MeasureDisk());
    results.push_back(std::move(result));
  }
  PrintIngest(absl::StrCat(workload.name, ", ", ticks_per_message,
                           ticks_per_message == 1 ? " tick" : " ticks",
                           " in a message"),
              results);
  return results;
}

absl::Status Run(size_t machines, const std::string& trace_file) {
  RETURN_IF_ERROR(CheckPeers());
  std::optional<HostTrace> trace;
  if (!trace_file.empty()) {
    ASSIGN_OR_RETURN(trace, HostTrace::Read(trace_file));
  }
  const absl::Time start = SomeHoursAgo();
  const FleetWorkload large(1000);
  for (const int ticks_per_message : {1, 10}) {
    RETURN_IF_ERROR(Compare(large.MakeWorkload(machines, 300, start),
                            ticks_per_message, /*asked=*/std::nullopt)
                        .status());
  }
  if (trace.has_value()) {
    RETURN_IF_ERROR(
        Compare(trace->MakeWorkload(start), 10, /*asked=*/std::nullopt)
            .status());
  }
  const FleetWorkload small(100);
  ASSIGN_OR_RETURN(
      const auto results,
      Compare(small.MakeWorkload(machines, 3600, start), 10, Repetitions()));
  PrintQueries(results);
  return CompareAnswers(results);
}

// 10,000 machines with 24 series each, ten minutes.
absl::Status RunWide() {
  RETURN_IF_ERROR(CheckPeers());
  const FleetWorkload fleet(/*series=*/34);
  ASSIGN_OR_RETURN(const auto results,
                   Compare(fleet.MakeWorkload(10'000, 600, SomeHoursAgo()), 10,
                           Repetitions{.on_connection = 10, .by_command = 3}));
  PrintQueries(results);
  return CompareAnswers(results);
}

}  // namespace
}  // namespace fleetperf::bench

int main(int argc, char** argv) {
  fleetperf::Command program(
      "store_compare", "Compares fleetperf, VictoriaMetrics and Prometheus.");
  size_t machines = 100;
  std::string trace;
  bool wide = false;
  const fleetperf::Option machines_option = program.AddNumber(
      "--machines", &machines, "Machines of the simulated fleet", 11, 100'000);
  const fleetperf::Option trace_option =
      program.AddText("--trace", &trace, "Also replay this host trace")
          .SetType("FILE");
  program
      .AddFlag("--wide", &wide,
               "Only compare 10,000 machines with 24 series each, ten minutes")
      .Exclude(machines_option)
      .Exclude(trace_option);
  if (const auto status = program.Parse(argc, argv)) return *status;
  fleetperf::SendRpcLogs();
  const absl::Status status = wide ? fleetperf::bench::RunWide()
                                   : fleetperf::bench::Run(machines, trace);
  if (status.ok()) return 0;
  absl::FPrintF(stderr, "store_compare: %s\n", status.message());
  return 1;
}
