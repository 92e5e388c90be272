// A week of a fleet, sent to an aggregator as fast as it takes it: what that
// costs, what is left of it on disk, the memory that it takes, and how long
// questions about it take then.
//
//   week [--machines N] [--series N] [--interval SECONDS] [--days N]
//
// The samples' times are of the days before now, and they come over the same
// streams as those of today.

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "base/rpc_log.h"
#include "base/status_macros.h"
#include "tests/bench/comparison.h"
#include "tests/bench/fleet_workload.h"
#include "tests/bench/fleetperf_server.h"
#include "tests/bench/process_usage.h"
#include "tests/bench/report.h"

namespace fleetperf::bench {
namespace {

struct Parameters {
  size_t machines = 100;
  int series = 100;
  int interval = 10;
  int days = 7;
};

// What the aggregator's configuration says of the store, besides where it is:
// how long it keeps what.
const char* const kStore[] = {"retention: 30d"};

// As after an outage, when spools have filled.
constexpr int kTicksPerMessage = 60;
constexpr int kAsked = 20;
constexpr double kMiB = 1 << 20;

void PrintPeak(const char* what, const FleetperfServer& server) {
  absl::PrintF("%-44s%10.0f MiB\n", what,
               static_cast<double>(PeakMemoryOf(server.pid())) / kMiB);
}

void PrintPerSample(const char* what, double value, uint64_t samples,
                    const char* unit) {
  absl::PrintF("%-44s%10.3f %s a sample\n", what,
               value / static_cast<double>(samples), unit);
}

absl::Status Ingest(const Workload& workload, size_t ticks_of_a_day,
                    FleetperfServer* server) {
  RETURN_IF_ERROR(server->Connect(workload));
  const absl::Duration before = CpuTimeOf(server->pid());
  absl::Duration sending;
  for (size_t done = 0; done < workload.ticks; done += ticks_of_a_day) {
    Progress(absl::StrCat("day ", done / ticks_of_a_day + 1));
    server->load().Prepare(ticks_of_a_day, kTicksPerMessage);
    const absl::Time begin = absl::Now();
    RETURN_IF_ERROR(server->load().Send());
    sending += absl::Now() - begin;
  }
  Progress("merging");
  const absl::Time begin = absl::Now();
  RETURN_IF_ERROR(server->Settle());
  const uint64_t samples = server->prepared_samples();
  absl::PrintF("%s: %d samples\n", workload.name, samples);
  absl::PrintF("%-44s%10.1f s\n", "time to send them",
               absl::ToDoubleSeconds(sending));
  absl::PrintF("%-44s%10.1f s\n", "time from then on until merged",
               absl::ToDoubleSeconds(absl::Now() - begin));
  PrintPerSample("CPU until merged",
                 absl::ToDoubleNanoseconds(CpuTimeOf(server->pid()) - before),
                 samples, "ns");
  PrintPeak("memory, most at once", *server);
  return absl::OkStatus();
}

absl::Status Ask(const char* what, Scope scope, FleetperfServer* server) {
  absl::PrintF("%s\n", what);
  for (const Question question : kQuestions) {
    ASSIGN_OR_RETURN(const QueryCost cost,
                     MeasureQuery(question, scope, kAsked, server));
    absl::PrintF("  %-42s%10.2f ms, CPU %.2f ms, %d values\n", NameOf(question),
                 absl::ToDoubleMilliseconds(cost.median),
                 absl::ToDoubleMilliseconds(cost.cpu),
                 cost.answer.values.size());
  }
  return absl::OkStatus();
}

absl::Status Run(const Parameters& parameters) {
  const absl::Duration interval = absl::Seconds(parameters.interval);
  const auto ticks_of_a_day = static_cast<size_t>(absl::Hours(24) / interval);
  const size_t ticks = ticks_of_a_day * static_cast<size_t>(parameters.days);
  const absl::Time start =
      absl::FromUnixSeconds(absl::ToUnixSeconds(absl::Now()) / 3600 * 3600) -
      static_cast<int64_t>(ticks) * interval - absl::Hours(3);
  const FleetWorkload fleet(parameters.series);
  const Workload workload =
      fleet.MakeWorkload(parameters.machines, ticks, start, interval);
  ASSIGN_OR_RETURN(
      const auto server,
      FleetperfServer::Start({std::begin(kStore), std::end(kStore)}));
  RETURN_IF_ERROR(Ingest(workload, ticks_of_a_day, server.get()));

  const std::string machine = absl::StrCat("host-", parameters.machines / 2);
  const absl::Time middle = start + (workload.end() - start) / 2;
  RETURN_IF_ERROR(Ask("an hour in the middle, each minute",
                      {.machine = machine,
                       .start = middle - absl::Hours(1),
                       .end = middle,
                       .step = absl::Minutes(1)},
                      server.get()));
  RETURN_IF_ERROR(Ask("all of it, each hour",
                      {.machine = machine,
                       .start = start,
                       .end = workload.end(),
                       .step = absl::Hours(1)},
                      server.get()));
  PrintPeak("memory, most at once, after these questions", *server);

  Progress("compacting");
  const uint64_t samples = server->prepared_samples();
  ASSIGN_OR_RETURN(const DiskUse disk, server->MeasureDisk());
  PrintPerSample("disk", static_cast<double>(disk.data + disk.index), samples,
                 "bytes");
  PrintPerSample("  before RocksDB's compaction",
                 static_cast<double>(*disk.before_compaction), samples,
                 "bytes");
  return absl::OkStatus();
}

}  // namespace
}  // namespace fleetperf::bench

int main(int argc, char** argv) {
  fleetperf::bench::Parameters parameters;
  CLI::App app("A week of a fleet.");
  app.add_option("--machines", parameters.machines, "how many")
      ->check(CLI::Range(11, 100'000));
  app.add_option("--series", parameters.series, "of each machine")
      ->check(CLI::Range(100, 100'000));
  app.add_option("--interval", parameters.interval, "seconds between ticks")
      ->check(CLI::Range(1, 3600));
  app.add_option("--days", parameters.days, "how many")
      ->check(CLI::Range(1, 3650));
  CLI11_PARSE(app, argc, argv);
  fleetperf::SendGrpcLogsToDebug();
  const absl::Status status = fleetperf::bench::Run(parameters);
  if (status.ok()) return 0;
  absl::FPrintF(stderr, "week: %s\n", status.message());
  return 1;
}
