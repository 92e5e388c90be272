// Measures questions about machines of another aggregator: asked of that one,
// and of one without machines, which reads the samples of the other.
//
//   peers_bench [--machines N] [--seconds N]
//
// Fails if the answers differ.

#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "base/command_parser.h"
#include "base/rpc_log.h"
#include "base/status_macros.h"
#include "tests/bench/comparison.h"
#include "tests/bench/fleet_workload.h"
#include "tests/bench/fleetperf_load.h"
#include "tests/bench/fleetperf_process.h"
#include "tests/bench/fleetperf_queries.h"
#include "tests/bench/process_usage.h"
#include "tests/bench/report.h"

namespace fleetperf::bench {
namespace {

constexpr int kSeries = 100;
constexpr int kTicksPerMessage = 10;
constexpr int kRepetitions = 10;
constexpr absl::Duration kPeersKnown = absl::Seconds(30);

// Waits until `asked` answers for all machines.
absl::Status AwaitAll(FleetperfQueries* asked, const Scope& scope,
                      const Answer& expected) {
  const absl::Time deadline = absl::Now() + kPeersKnown;
  while (true) {
    const auto answer = asked->Ask(Question::kTopMachines, scope);
    if (answer.ok() && answer->machines == expected.machines) {
      return absl::OkStatus();
    }
    if (absl::Now() > deadline) {
      return absl::DeadlineExceededError(absl::StrCat(
          "the other aggregator's machines are missing: ",
          answer.ok() ? "the answer differs" : answer.status().message()));
    }
  }
}

void Print(const char* what, const AskCost& cost, double machines) {
  const auto micros = [&](absl::Duration cpu) {
    return absl::ToDoubleMicroseconds(cpu) / machines;
  };
  absl::PrintF("  %-26s%12.1f%14.1f%12.1f\n", what,
               absl::ToDoubleMilliseconds(cost.median), micros(cost.cpu[0]),
               micros(cost.cpu[1]));
}

absl::Status Run(size_t machines, size_t seconds) {
  RETURN_IF_ERROR(CheckOpenFileLimit(machines));
  const FleetWorkload fleet(kSeries);
  const Workload workload =
      fleet.MakeWorkload(machines, seconds, SomeHoursAgo());
  ASSIGN_OR_RETURN(const auto holder, FleetperfProcess::Make());
  ASSIGN_OR_RETURN(const auto asked, FleetperfProcess::MakePeerOf(*holder));
  RETURN_IF_ERROR(holder->Start());
  RETURN_IF_ERROR(asked->Start());
  const std::string peers = absl::StrCat("peers: ['", holder->address(), "', '",
                                         asked->address(), "']\n");
  RETURN_IF_ERROR(holder->Reload(peers));
  RETURN_IF_ERROR(asked->Reload(peers));
  {
    Progress("sending");
    ASSIGN_OR_RETURN(const auto load,
                     FleetperfLoad::Connect(workload, *holder));
    load->Prepare(workload.ticks, kTicksPerMessage);
    RETURN_IF_ERROR(load->SendByTurns());
    RETURN_IF_ERROR(load->SendNextHours());
  }
  AwaitQuiet(holder->pid(), kQuiet, machines);

  ASSIGN_OR_RETURN(const auto direct, FleetperfQueries::Connect(
                                          holder->address(), holder->reader()));
  ASSIGN_OR_RETURN(const auto through, FleetperfQueries::Connect(
                                           asked->address(), asked->reader()));
  absl::PrintF("%s\n\n%-28s%12s%14s%12s\n", workload.name, "questions", "ms",
               "the asked one", "the holder");
  absl::PrintF("%-28s%12s%14s%12s\n", "", "", "us a machine", "us a machine");
  const std::vector<pid_t> pids = {asked->pid(), holder->pid()};
  for (const auto& [name, start] :
       {std::pair("a minute", workload.end() - absl::Minutes(1)),
        std::pair("all", workload.start)}) {
    const Scope scope = {.machine = "host-0",
                         .start = start,
                         .end = workload.end(),
                         .step = absl::Seconds(10)};
    ASSIGN_OR_RETURN(const Answer all,
                     direct->Ask(Question::kTopMachines, scope));
    RETURN_IF_ERROR(AwaitAll(through.get(), scope, all));
    for (const Question question :
         {Question::kAverageRate, Question::kTopMachines}) {
      const std::string what = absl::StrCat(NameOf(question), ", ", name);
      Progress(what);
      const auto measure = [&](FleetperfQueries* queries) {
        return MeasureAsk([&] { return queries->Ask(question, scope); },
                          kRepetitions, pids);
      };
      ASSIGN_OR_RETURN(const AskCost own, measure(direct.get()));
      ASSIGN_OR_RETURN(const AskCost of_peer, measure(through.get()));
      RETURN_IF_ERROR(CheckSame(own.answer, of_peer.answer, what));
      absl::PrintF("%s\n", what);
      const auto count = static_cast<double>(machines);
      Print("asked of the holder", own, count);
      Print("asked of the other", of_peer, count);
    }
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace fleetperf::bench

int main(int argc, char** argv) {
  fleetperf::Command program(
      "peers_bench",
      "Measures questions about machines of another aggregator.");
  size_t machines = 1000;
  size_t seconds = 600;
  program.AddNumber("--machines", &machines, "Machines, all of one aggregator",
                    11, 20'000);
  program.AddNumber("--seconds", &seconds, "Seconds of samples, one tick each",
                    60, 3600);
  if (const auto status = program.Parse(argc, argv)) return *status;
  fleetperf::SendRpcLogsToDebug();
  const absl::Status status = fleetperf::bench::Run(machines, seconds);
  if (status.ok()) return 0;
  absl::FPrintF(stderr, "peers_bench: %s\n", status.message());
  return 1;
}
