// What it costs fleetperf, VictoriaMetrics and Prometheus to take the same
// samples, to keep them, and to answer the same questions about them, one after
// the other in one run.
//
//   store_compare [--machines N] [--trace FILE]
//
// The fleet is generated; host_trace.h says what a trace file is. CPU times are
// those of the server's process, in user and kernel mode. Nothing is said about
// what they should be; but that a server has all samples, and that all give the
// same answers, is checked.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "base/rpc_log.h"
#include "base/status_macros.h"
#include "tests/bench/fleet_workload.h"
#include "tests/bench/fleetperf_server.h"
#include "tests/bench/host_trace.h"
#include "tests/bench/peers.h"
#include "tests/bench/process_usage.h"
#include "tests/bench/report.h"
#include "tests/bench/server.h"

namespace fleetperf::bench {
namespace {

constexpr double kMiB = 1 << 20;
// How often each question is asked, on the warm channel and by processes.
constexpr int kAsked = 100;
constexpr int kAskedCold = 10;
// Of values, when they are the same: clocks are in 100 ns here and in
// milliseconds there.
constexpr double kTolerance = 1e-3;

constexpr Question kQuestions[] = {Question::kRawSeries, Question::kAverageRate,
                                   Question::kTopMachines};

const char* NameOf(Question question) {
  switch (question) {
    case Question::kRawSeries:
      return "one raw series";
    case Question::kAverageRate:
      return "average rate of all machines, step 10 s";
    case Question::kTopMachines:
      break;
  }
  return "top 10 machines by average";
}

struct IngestCost {
  uint64_t samples = 0;
  absl::Duration acknowledged;  // CPU until then
  absl::Duration settled;       // and from then on
  absl::Duration wall;          // until all was acknowledged
  uint64_t peak_memory = 0;
  DiskUse disk;
};

struct QueryCost {
  absl::Duration median;
  absl::Duration p99;
  absl::Duration cpu;
  std::optional<absl::Duration> cold;
  Answer answer;
};

struct Result {
  std::string server;
  IngestCost ingest;
  std::vector<QueryCost> queries;  // by question, if any were asked
  uint64_t peak_memory = 0;        // after them
};

// Two hours of Prometheus's begin here; the hours after the samples are over.
absl::Time SomeHoursAgo() {
  const absl::Duration block = absl::Hours(2);
  return absl::UnixEpoch() +
         absl::Floor(absl::Now() - absl::UnixEpoch(), block) - 2 * block;
}

Workload MakeFleet(const FleetWorkload& fleet, size_t machines, size_t ticks) {
  const absl::Time start = SomeHoursAgo();
  return {.name = absl::StrCat(machines, " machines with ", fleet.series(),
                               " series, ", ticks, " ticks"),
          .machines = machines,
          .ticks = ticks,
          .start = start,
          .make_machine = [&fleet, start](size_t i) {
            // Ticks of machines are not at the same time.
            const auto phase = absl::Milliseconds(1 + i * 37 % 998);
            return std::make_unique<FleetMachine>(
                fleet, absl::StrCat("host-", i),
                /*seed=*/1 + i, start + phase);
          }};
}

// What the questions are about.
Scope ScopeOf(const Workload& workload, Question question) {
  Scope scope = {.machine = absl::StrCat("host-", workload.machines / 2),
                 .start = workload.start,
                 .end = workload.end()};
  // Every window has a sample before it.
  if (question == Question::kAverageRate) scope.start += kStep;
  return scope;
}

absl::StatusOr<IngestCost> MeasureIngest(const Workload& workload,
                                         int ticks_per_message,
                                         Server* server) {
  Progress(absl::StrCat(server->name(), ": encoding"));
  RETURN_IF_ERROR(server->Prepare(workload, ticks_per_message));
  IngestCost cost = {.samples = server->prepared_samples()};
  Progress(
      absl::StrCat(server->name(), ": sending ", cost.samples, " samples"));
  const absl::Duration before = CpuTimeOf(server->pid());
  const absl::Time begin = absl::Now();
  RETURN_IF_ERROR(server->Send());
  cost.wall = absl::Now() - begin;
  cost.acknowledged = CpuTimeOf(server->pid()) - before;
  Progress(absl::StrCat(server->name(), ": merging"));
  RETURN_IF_ERROR(server->Settle());
  cost.settled = CpuTimeOf(server->pid()) - before - cost.acknowledged;
  cost.peak_memory = PeakMemoryOf(server->pid());
  Progress(absl::StrCat(server->name(), ": counting"));
  ASSIGN_OR_RETURN(const uint64_t found, server->CountSamples());
  if (found != cost.samples) {
    return absl::DataLossError(absl::StrCat(server->name(), " has ", found,
                                            " samples of ", cost.samples));
  }
  return cost;
}

absl::StatusOr<QueryCost> MeasureQuery(Question question, const Scope& scope,
                                       Server* server) {
  Progress(absl::StrCat(server->name(), ": ", NameOf(question)));
  QueryCost cost;
  ASSIGN_OR_RETURN(cost.answer, server->Ask(question, scope));
  std::vector<absl::Duration> times;
  const absl::Duration before = CpuTimeOf(server->pid());
  for (int i = 0; i < kAsked; ++i) {
    ASSIGN_OR_RETURN(const Answer answer, server->Ask(question, scope));
    times.push_back(answer.took);
  }
  cost.cpu = (CpuTimeOf(server->pid()) - before) / kAsked;
  std::sort(times.begin(), times.end());
  cost.median = times[times.size() / 2];
  cost.p99 = times[times.size() * 99 / 100];
  return cost;
}

absl::StatusOr<absl::Duration> MeasureCommandLine(
    Question question, const Scope& scope, const FleetperfServer& server) {
  std::vector<absl::Duration> times;
  for (int i = 0; i < kAskedCold; ++i) {
    ASSIGN_OR_RETURN(const absl::Duration took,
                     server.AskOnCommandLine(question, scope));
    times.push_back(took);
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

absl::StatusOr<Result> MeasureServer(const Workload& workload,
                                     int ticks_per_message, bool asks,
                                     Server* server) {
  Result result = {.server = server->name()};
  ASSIGN_OR_RETURN(result.ingest,
                   MeasureIngest(workload, ticks_per_message, server));
  if (asks) {
    for (const Question question : kQuestions) {
      const Scope scope = ScopeOf(workload, question);
      ASSIGN_OR_RETURN(QueryCost cost, MeasureQuery(question, scope, server));
      if (const auto* ours = dynamic_cast<FleetperfServer*>(server)) {
        ASSIGN_OR_RETURN(cost.cold, MeasureCommandLine(question, scope, *ours));
      }
      result.queries.push_back(std::move(cost));
    }
  }
  result.peak_memory = PeakMemoryOf(server->pid());
  ASSIGN_OR_RETURN(result.ingest.disk, server->MeasureDisk());
  return result;
}

absl::StatusOr<std::vector<Result>> MeasureAll(const Workload& workload,
                                               int ticks_per_message,
                                               bool asks) {
  const std::function<absl::StatusOr<std::unique_ptr<Server>>()> starts[] = {
      []() -> absl::StatusOr<std::unique_ptr<Server>> {
        return FleetperfServer::Start();
      },
      StartVictoriaMetrics, StartPrometheus};
  std::vector<Result> results;
  for (const auto& start : starts) {
    ASSIGN_OR_RETURN(const std::unique_ptr<Server> server, start());
    ASSIGN_OR_RETURN(Result result, MeasureServer(workload, ticks_per_message,
                                                  asks, server.get()));
    results.push_back(std::move(result));
  }
  return results;
}

// One row of a table: what `value` says of each server.
std::vector<double> ForEach(const std::vector<Result>& results,
                            const std::function<double(const Result&)>& value) {
  std::vector<double> values;
  for (const Result& result : results) values.push_back(value(result));
  return values;
}

std::vector<std::string> NamesOf(const std::vector<Result>& results) {
  std::vector<std::string> names;
  for (const Result& result : results) names.push_back(result.server);
  return names;
}

void PrintIngest(const std::string& title, const std::vector<Result>& results) {
  const auto each = [&](auto value) {
    return ForEach(results, [&](const Result& result) {
      return value(result.ingest, static_cast<double>(result.ingest.samples));
    });
  };
  Table table(absl::StrCat(title, ", ", results[0].ingest.samples, " samples"),
              NamesOf(results));
  table.Add("CPU until acknowledged, ns a sample",
            each([](const IngestCost& cost, double samples) {
              return absl::ToDoubleNanoseconds(cost.acknowledged) / samples;
            }),
            1);
  table.Add("CPU from then on until merged, ns a sample",
            each([](const IngestCost& cost, double samples) {
              return absl::ToDoubleNanoseconds(cost.settled) / samples;
            }),
            1);
  table.Add(
      "CPU until merged, both, ns a sample",
      each([](const IngestCost& cost, double samples) {
        return absl::ToDoubleNanoseconds(cost.acknowledged + cost.settled) /
               samples;
      }),
      1);
  table.Add("time until acknowledged, s",
            each([](const IngestCost& cost, double) {
              return absl::ToDoubleSeconds(cost.wall);
            }),
            2);
  table.Add("memory, most at once, MiB",
            each([](const IngestCost& cost, double) {
              return static_cast<double>(cost.peak_memory) / kMiB;
            }),
            0);
  table.Add("disk: data, bytes a sample",
            each([](const IngestCost& cost, double samples) {
              return static_cast<double>(cost.disk.data) / samples;
            }),
            3);
  table.Add("disk: index, bytes a sample",
            each([](const IngestCost& cost, double samples) {
              return static_cast<double>(cost.disk.index) / samples;
            }),
            3);
  table.Add("disk: both, bytes a sample",
            each([](const IngestCost& cost, double samples) {
              return static_cast<double>(cost.disk.data + cost.disk.index) /
                     samples;
            }),
            3);
  table.Add("  before RocksDB's compaction",
            each([](const IngestCost& cost, double samples) {
              return cost.disk.before_compaction.has_value()
                         ? static_cast<double>(*cost.disk.before_compaction) /
                               samples
                         : std::nan("");
            }),
            3);
}

void PrintQueries(const std::vector<Result>& results) {
  for (size_t i = 0; i < std::size(kQuestions); ++i) {
    Table table(NameOf(kQuestions[i]), NamesOf(results));
    const auto each = [&](auto value) {
      return ForEach(results, [&](const Result& result) {
        return absl::ToDoubleMilliseconds(value(result.queries[i]));
      });
    };
    table.Add("median, ms", each([](const auto& cost) { return cost.median; }),
              2);
    table.Add("p99, ms", each([](const auto& cost) { return cost.p99; }), 2);
    table.Add("server's CPU, ms",
              each([](const auto& cost) { return cost.cpu; }), 2);
    table.Add("fleetperf query, from start to end, ms",
              ForEach(results,
                      [&](const Result& result) {
                        const auto& cold = result.queries[i].cold;
                        return cold ? absl::ToDoubleMilliseconds(*cold)
                                    : std::nan("");
                      }),
              1);
  }
  Table table("after these questions", NamesOf(results));
  table.Add("memory, most at once, MiB",
            ForEach(results,
                    [](const Result& result) {
                      return static_cast<double>(result.peak_memory) / kMiB;
                    }),
            0);
}

// The largest difference of a value from the first server's, as a part of it.
// An error if there are not as many, or not of the same machines.
absl::StatusOr<double> Compare(const Answer& first, const Answer& other) {
  if (first.values.empty() || first.values.size() != other.values.size()) {
    return absl::InternalError(
        absl::StrCat(first.values.size(), " values and ", other.values.size()));
  }
  if (first.machines != other.machines) {
    return absl::InternalError("other machines, or in another order");
  }
  double difference = 0;
  for (size_t i = 0; i < first.values.size(); ++i) {
    difference =
        std::max(difference, std::abs(first.values[i] - other.values[i]) /
                                 std::abs(first.values[i]));
  }
  return difference;
}

absl::Status CompareAnswers(const std::vector<Result>& results) {
  absl::PrintF("\n");
  for (size_t i = 0; i < std::size(kQuestions); ++i) {
    const Answer& first = results[0].queries[i].answer;
    for (size_t other = 1; other < results.size(); ++other) {
      const std::string what =
          absl::StrCat(NameOf(kQuestions[i]), ", ", results[0].server, " and ",
                       results[other].server);
      const auto difference = Compare(first, results[other].queries[i].answer);
      if (!difference.ok() || *difference > kTolerance) {
        return absl::InternalError(absl::StrCat(
            what, " do not agree: ",
            difference.ok() ? absl::StrCat("values differ by ", *difference)
                            : std::string(difference.status().message())));
      }
      absl::PrintF("%s: the same %d values, but for at most %.1g of each\n",
                   what, first.values.size(), *difference);
    }
  }
  return absl::OkStatus();
}

absl::Status Run(size_t machines, const std::string& trace_file) {
  const FleetWorkload large(1000);
  for (const int ticks_per_message : {1, 10}) {
    const Workload workload = MakeFleet(large, machines, 300);
    ASSIGN_OR_RETURN(const auto results,
                     MeasureAll(workload, ticks_per_message, /*asks=*/false));
    PrintIngest(
        absl::StrCat(workload.name, ", ", ticks_per_message, " in a message"),
        results);
  }
  if (!trace_file.empty()) {
    ASSIGN_OR_RETURN(const HostTrace trace, HostTrace::Read(trace_file));
    const Workload workload = trace.MakeWorkload(SomeHoursAgo());
    ASSIGN_OR_RETURN(const auto results,
                     MeasureAll(workload, 10, /*asks=*/false));
    PrintIngest(absl::StrCat(workload.name, ", 10 ticks in a message"),
                results);
  }
  const FleetWorkload small(100);
  const Workload workload = MakeFleet(small, machines, 3600);
  ASSIGN_OR_RETURN(const auto results, MeasureAll(workload, 10, /*asks=*/true));
  PrintIngest(absl::StrCat(workload.name, ", 10 in a message"), results);
  PrintQueries(results);
  return CompareAnswers(results);
}

}  // namespace
}  // namespace fleetperf::bench

int main(int argc, char** argv) {
  CLI::App app("Compares fleetperf, VictoriaMetrics and Prometheus.");
  size_t machines = 100;
  std::string trace;
  app.add_option("--machines", machines, "of the generated fleet")
      ->check(CLI::Range(11, 100'000));
  app.add_option("--trace", trace, "a trace of a host; none: not done")
      ->check(CLI::ExistingFile);
  CLI11_PARSE(app, argc, argv);
  fleetperf::SendGrpcLogsToDebug();
  const absl::Status status = fleetperf::bench::Run(machines, trace);
  if (status.ok()) return 0;
  absl::FPrintF(stderr, "store_compare: %s\n", status.message());
  return 1;
}
