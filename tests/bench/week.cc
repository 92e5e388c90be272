// Measures an aggregator with a week of a fleet's samples in its store: merging
// and thinning, memory, disk space, and query times.
//
//   week [--machines N] [--series N] [--interval SECONDS]
//        [--days N | --hours N]
//
// The samples are of the days before now, and are stored as if they had been
// received then, because retention depends on the time of receipt.

#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "base/daemon/command_parser.h"
#include "base/rpc/rpc_log.h"
#include "base/status_macros.h"
#include "tests/bench/comparison.h"
#include "tests/bench/fleet_workload.h"
#include "tests/bench/fleetperf_process.h"
#include "tests/bench/fleetperf_server.h"
#include "tests/bench/process_usage.h"
#include "tests/bench/report.h"
#include "tests/bench/store_feed.h"

namespace fleetperf::bench {
namespace {

struct Parameters {
  size_t machines = 100;
  int series = 200;
  int interval = 10;
  int hours = 7 * 24;
};

// Retention in the aggregator's configuration file, chosen so that a week has
// samples of every resolution.
const char* const kStore[] = {"full_resolution: 1d", "minute_resolution: 4d",
                              "retention: 30d"};

constexpr int kTicksPerMessage = 30;
constexpr int kAsked = 20;
constexpr double kMiB = 1 << 20;

void PrintPeak(const char* what, pid_t pid) {
  absl::PrintF("%-44s%10.0f MiB\n", what,
               static_cast<double>(PeakMemoryOf(pid)) / kMiB);
}

void PrintTime(const char* what, absl::Duration time) {
  absl::PrintF("%-44s%10.1f s\n", what, absl::ToDoubleSeconds(time));
}

void PrintPerSample(const char* what, double value, uint64_t samples,
                    const char* unit) {
  absl::PrintF("%-44s%10.3f %s a sample\n", what,
               value / static_cast<double>(samples), unit);
}

// Fills the store of an aggregator that has not been started yet.
absl::StatusOr<uint64_t> Fill(const Workload& workload,
                              const FleetperfProcess& process) {
  Progress(absl::StrCat(workload.name, ": filling the store"));
  const absl::Duration before = CpuTimeOf(getpid());
  const absl::Time begin = absl::Now();
  ASSIGN_OR_RETURN(
      const uint64_t samples,
      FeedStore(workload, kTicksPerMessage, process.store_directory()));
  absl::PrintF("%s: %d samples\n", workload.name, samples);
  PrintTime("filling the store", absl::Now() - begin);
  PrintPerSample("  CPU, the workload included",
                 absl::ToDoubleNanoseconds(CpuTimeOf(getpid()) - before),
                 samples, "ns");
  return samples;
}

absl::StatusOr<std::unique_ptr<FleetperfServer>> Settle(
    std::unique_ptr<FleetperfProcess> process, uint64_t samples) {
  Progress("the aggregator merges and thins");
  absl::Time begin = absl::Now();
  RETURN_IF_ERROR(process->Start({std::begin(kStore), std::end(kStore)}));
  PrintTime("starting the aggregator", absl::Now() - begin);
  begin = absl::Now();
  const pid_t pid = process->pid();
  AwaitQuiet(pid, kQuiet, /*connections=*/0);
  PrintTime("until it is quiet", absl::Now() - begin - kQuiet);
  PrintPerSample("  CPU", absl::ToDoubleNanoseconds(CpuTimeOf(pid)), samples,
                 "ns");
  PrintPeak("  peak memory", pid);
  return FleetperfServer::Connect(std::move(process));
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
  const auto ticks =
      static_cast<size_t>(absl::Hours(parameters.hours) / interval);
  const absl::Time start =
      absl::FromUnixSeconds(absl::ToUnixSeconds(absl::Now()) / 3600 * 3600) -
      static_cast<int64_t>(ticks) * interval - absl::Hours(3);
  const FleetWorkload fleet(parameters.series);
  const Workload workload =
      fleet.MakeWorkload(parameters.machines, ticks, start, interval);
  ASSIGN_OR_RETURN(auto process, FleetperfProcess::Make());
  ASSIGN_OR_RETURN(const uint64_t samples, Fill(workload, *process));
  ASSIGN_OR_RETURN(const auto server, Settle(std::move(process), samples));

  const std::string machine = absl::StrCat("host-", parameters.machines / 2);
  const absl::Time middle = start + absl::Hours(parameters.hours / 2);
  RETURN_IF_ERROR(Ask("an hour in the middle, each minute",
                      {.machine = machine,
                       .start = middle,
                       .end = middle + absl::Hours(1),
                       .step = absl::Minutes(1)},
                      server.get()));
  RETURN_IF_ERROR(Ask("all of it, each hour",
                      {.machine = machine,
                       .start = start,
                       .end = workload.end(),
                       .step = absl::Hours(1)},
                      server.get()));
  PrintPeak("peak memory, after these queries", server->pid());

  Progress("compacting");
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
  fleetperf::Command program(
      "week",
      "Measures an aggregator with a week of a fleet's samples in its store.");
  program.AddNumber("--machines", &parameters.machines, "Number of machines",
                    11, 100'000);
  program.AddNumber("--series", &parameters.series,
                    "Approximate series per machine", 34, 100'000);
  program.AddNumber("--interval", &parameters.interval, "Seconds between ticks",
                    1, 3600);
  int days = 0;
  const fleetperf::Option days_option =
      program.AddNumber("--days", &days, "Number of days", 1, 3650);
  program
      .AddNumber("--hours", &parameters.hours, "Number of hours instead", 1,
                 3650)
      .Exclude(days_option);
  if (const auto status = program.Parse(argc, argv)) return *status;
  if (days > 0) parameters.hours = 24 * days;
  fleetperf::SendRpcLogs();
  const absl::Status status = fleetperf::bench::Run(parameters);
  if (status.ok()) return 0;
  absl::FPrintF(stderr, "week: %s\n", status.message());
  return 1;
}
