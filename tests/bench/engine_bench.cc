// Measures an aggregator and an engine, VictoriaMetrics, for the same samples:
// the CPU time of an export, and of questions that are answered from the
// engine.
//
//   engine_bench [--machines N] [--series N] [--seconds N]
//
// Fails if the engine lacks values, or if answers from the engine differ from
// those of the own store.

#include <cstdio>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "base/daemon/command_parser.h"
#include "base/rpc/rpc_log.h"
#include "base/status_macros.h"
#include "tests/bench/comparison.h"
#include "tests/bench/fleet_workload.h"
#include "tests/bench/fleetperf_load.h"
#include "tests/bench/fleetperf_process.h"
#include "tests/bench/fleetperf_queries.h"
#include "tests/bench/http_client.h"
#include "tests/bench/process_usage.h"
#include "tests/bench/report.h"
#include "tests/bench/victoria_metrics.h"

namespace fleetperf::bench {
namespace {

constexpr int kTicksPerMessage = 10;
constexpr int kRepetitions = 5;
constexpr absl::Duration kStep = absl::Seconds(10);
// Samples older than a week are asked of the engine. The own store has them at
// full resolution, too: it goes by the time of receipt.
constexpr absl::Duration kAge = absl::Hours(8 * 24);

double NanosOf(absl::Duration duration) {
  return absl::ToDoubleNanoseconds(duration);
}

struct ExportCost {
  std::string what;
  absl::Duration aggregator;
  absl::Duration engine;
  double values = 0;  // that the engine received
};

// An aggregator and the engine it exports to.
class Bench {
 public:
  explicit Bench(const Workload& workload) : workload_(workload) {}

  // Sends all samples, and waits until they are merged and exported. `options`
  // are keys of the section "export"; without, nothing is exported. The engine
  // gets `values_of_sample` or more.
  absl::StatusOr<ExportCost> Ingest(const std::string& what,
                                    const std::string& options,
                                    int values_of_sample) {
    Progress(absl::StrCat(what, ": sending"));
    ASSIGN_OR_RETURN(process_, FleetperfProcess::Make());
    ASSIGN_OR_RETURN(engine_, VictoriaMetrics::Start());
    if (!options.empty()) {
      export_ = absl::StrCat("export: {url: '", Url("write"), "', interval: 1s",
                             options, "}\n");
    }
    RETURN_IF_ERROR(process_->Start({}, export_));
    ASSIGN_OR_RETURN(const auto load,
                     FleetperfLoad::Connect(workload_, *process_));
    load->Prepare(workload_.ticks, kTicksPerMessage);
    ExportCost cost = {.what = what,
                       .aggregator = -CpuTimeOf(process_->pid()),
                       .engine = -CpuTimeOf(engine_->pid())};
    RETURN_IF_ERROR(load->SendByTurns());
    RETURN_IF_ERROR(load->SendNextHours());
    Progress(absl::StrCat(what, ": waiting"));
    AwaitQuiet(process_->pid(), kQuiet, workload_.machines);
    AwaitQuiet(engine_->pid(), kQuiet, 0);
    cost.aggregator += CpuTimeOf(process_->pid());
    cost.engine += CpuTimeOf(engine_->pid());
    ASSIGN_OR_RETURN(cost.values, engine_->Metric("vm_rows_inserted_total{"));
    const auto samples = static_cast<double>(load->samples());
    // A rate has no value at its first tick.
    const double first = samples / static_cast<double>(workload_.ticks);
    const double expected = values_of_sample * samples - first;
    if (values_of_sample > 0 && cost.values < expected) {
      return absl::DataLossError(
          absl::StrFormat("the engine has %.0f values, and not at least %.0f",
                          cost.values, expected));
    }
    return cost;
  }

  // Starts the aggregator again, with the engine's samples as its history.
  absl::Status UseHistory() {
    RETURN_IF_ERROR(process_->Stop());
    return process_->Start(
        {}, absl::StrCat(export_, "history: {url: '", Url("query"), "'}\n"));
  }

  absl::StatusOr<AskCost> Ask(Question question) {
    Progress(NameOf(question));
    ASSIGN_OR_RETURN(
        const auto queries,
        FleetperfQueries::Connect(process_->address(), process_->reader()));
    return Measure([&] { return queries->Ask(question, ScopeOfAll()); });
  }

  // Asks the engine itself for the same, of the values that it got.
  absl::StatusOr<AskCost> AskEngine(Question question) {
    const Scope scope = ScopeOfAll();
    const std::string range =
        absl::StrCat(absl::ToInt64Seconds(scope.end - scope.start), "s]");
    const std::string timer =
        "fleetperf_processor_information_user_time_percent{instance=\"0,0\"";
    switch (question) {
      case Question::kRawSeries:
        return MeasurePromQl(
            "query",
            absl::StrCat(timer, ",machine=\"", scope.machine, "\"}[", range));
      case Question::kTopMachines:
        return MeasurePromQl(
            "query",
            absl::StrCat("topk(", kTop,
                         ",avg_over_time(fleetperf_process_thread_count{"
                         "instance=\"0,1\"}[",
                         range, "))"));
      case Question::kAverageRate:
        break;
    }
    return MeasurePromQl(
        "query_range", absl::StrCat("avg(avg_over_time(", timer, "}[",
                                    absl::ToInt64Seconds(scope.step), "s]))"));
  }

 private:
  std::string Url(const std::string& path) const {
    return absl::StrCat("http://127.0.0.1:", engine_->port(), "/api/v1/", path);
  }

  Scope ScopeOfAll() const {
    return {.machine = "host-0",
            .start = workload_.start,
            .end = workload_.end(),
            .step = kStep};
  }

  absl::StatusOr<AskCost> MeasurePromQl(const std::string& path,
                                        const std::string& query) {
    const Scope scope = ScopeOfAll();
    const auto seconds = [](absl::Time time) {
      return absl::StrCat(absl::ToUnixSeconds(time));
    };
    const HttpClient::Parameters parameters = {
        {"query", query},
        {"nocache", "1"},
        {"time", seconds(scope.end)},
        {"start", seconds(scope.start + scope.step)},
        {"end", seconds(scope.end)},
        {"step", absl::StrCat(absl::ToInt64Seconds(scope.step), "s")}};
    return Measure([&]() -> absl::StatusOr<Answer> {
      const absl::Time begin = absl::Now();
      ASSIGN_OR_RETURN(const std::string body,
                       engine_->client().Get("/api/v1/" + path, parameters));
      if (!absl::StrContains(body, "\"value")) {
        return absl::DataLossError(absl::StrCat("no values: ", query));
      }
      return Answer{.took = absl::Now() - begin};
    });
  }

  absl::StatusOr<AskCost> Measure(
      const std::function<absl::StatusOr<Answer>()>& ask) {
    return MeasureAsk(ask, kRepetitions, {process_->pid(), engine_->pid()});
  }

  const Workload workload_;
  std::string export_;
  std::unique_ptr<FleetperfProcess> process_;
  std::unique_ptr<VictoriaMetrics> engine_;
};

void PrintExport(const std::vector<ExportCost>& costs, double samples) {
  absl::PrintF("\n%-24s%14s%12s%12s%16s\n", "CPU", "aggregator", "export",
               "engine", "values");
  absl::PrintF("%-24s%14s%12s%12s%16s\n", "", "ns a sample", "ns a value",
               "ns a value", "");
  for (const ExportCost& cost : costs) {
    absl::PrintF("%-24s%14.1f", cost.what, NanosOf(cost.aggregator) / samples);
    if (cost.values > 0) {
      absl::PrintF(
          "%12.1f%12.1f%16.0f",
          NanosOf(cost.aggregator - costs.front().aggregator) / cost.values,
          NanosOf(cost.engine) / cost.values, cost.values);
    }
    absl::PrintF("\n");
  }
}

void PrintQuestion(const char* what, const AskCost& cost, double samples) {
  absl::PrintF("  %-34s%12.1f%14.1f%12.1f\n", what,
               absl::ToDoubleMilliseconds(cost.median),
               NanosOf(cost.cpu[0]) / samples, NanosOf(cost.cpu[1]) / samples);
}

absl::Status Run(size_t machines, int series, size_t seconds) {
  const FleetWorkload fleet(series);
  // At the beginning of an hour.
  const absl::Time start =
      absl::UnixEpoch() +
      absl::Floor(absl::Now() - kAge - absl::UnixEpoch(), absl::Hours(1));
  const Workload workload = fleet.MakeWorkload(machines, seconds, start);
  const auto ticks = static_cast<double>(machines * seconds);
  std::vector<ExportCost> costs;
  ASSIGN_OR_RETURN(costs.emplace_back(),
                   Bench(workload).Ingest("without an export", "", 0));
  ASSIGN_OR_RETURN(costs.emplace_back(),
                   Bench(workload).Ingest("values", ", raw: false", 1));
  Bench bench(workload);
  ASSIGN_OR_RETURN(costs.emplace_back(),
                   bench.Ingest("values and raw", ", raw: true", 2));
  absl::PrintF("%s\n", workload.name);
  PrintExport(costs, ticks * static_cast<double>(fleet.series()));

  std::vector<AskCost> own;
  for (const Question question : kQuestions) {
    ASSIGN_OR_RETURN(own.emplace_back(), bench.Ask(question));
  }
  RETURN_IF_ERROR(bench.UseHistory());
  absl::PrintF("\n%-36s%12s%14s%12s\n", "questions", "ms", "aggregator",
               "engine");
  absl::PrintF("%-36s%12s%14s%12s\n", "", "", "ns a sample", "ns a sample");
  for (size_t i = 0; i < std::size(kQuestions); ++i) {
    ASSIGN_OR_RETURN(const AskCost cost, bench.Ask(kQuestions[i]));
    RETURN_IF_ERROR(CheckSame(own[i].answer, cost.answer, "from the engine"));
    ASSIGN_OR_RETURN(const AskCost promql, bench.AskEngine(kQuestions[i]));
    const double samples = kQuestions[i] == Question::kRawSeries
                               ? static_cast<double>(seconds)
                               : ticks;
    absl::PrintF("%s: %.0f samples\n", NameOf(kQuestions[i]), samples);
    PrintQuestion("from the own store", own[i], samples);
    PrintQuestion("from the engine", cost, samples);
    PrintQuestion("the engine alone, in PromQL", promql, samples);
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace fleetperf::bench

int main(int argc, char** argv) {
  fleetperf::Command program(
      "engine_bench",
      "Measures an aggregator and an engine for the same samples.");
  size_t machines = 20;
  int series = 100;
  size_t seconds = 3600;
  program.AddNumber("--machines", &machines, "Machines of the simulated fleet",
                    1, 1000);
  program.AddNumber("--series", &series, "Series of a machine", 20, 1000);
  program.AddNumber("--seconds", &seconds, "Seconds of samples, one tick each",
                    600, 3600);
  if (const auto status = program.Parse(argc, argv)) return *status;
  fleetperf::SendRpcLogs();
  const absl::Status status = fleetperf::bench::Run(machines, series, seconds);
  if (status.ok()) return 0;
  absl::FPrintF(stderr, "engine_bench: %s\n", status.message());
  return 1;
}
