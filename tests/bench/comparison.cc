#include "tests/bench/comparison.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "base/status_macros.h"
#include "tests/bench/process_usage.h"
#include "tests/bench/report.h"

namespace fleetperf::bench {

absl::Duration Quantile(const std::vector<absl::Duration>& sorted,
                        double part) {
  const auto place =
      static_cast<size_t>(part * static_cast<double>(sorted.size()));
  return sorted[std::min(place, sorted.size() - 1)];
}

absl::Time SomeHoursAgo() {
  const absl::Duration block = absl::Hours(2);
  return absl::UnixEpoch() +
         absl::Floor(absl::Now() - absl::UnixEpoch(), block) - 2 * block;
}

std::string NameOf(Question question) {
  switch (question) {
    case Question::kRawSeries:
      return "one raw series";
    case Question::kAverageRate:
      return "average rate of all machines";
    case Question::kTopMachines:
      break;
  }
  return "top 10 machines by average";
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

absl::StatusOr<AskCost> MeasureAsk(
    const std::function<absl::StatusOr<Answer>()>& ask, int times,
    const std::vector<pid_t>& pids) {
  AskCost cost;
  ASSIGN_OR_RETURN(cost.answer, ask());
  for (const pid_t pid : pids) cost.cpu.push_back(-CpuTimeOf(pid));
  std::vector<absl::Duration> took;
  for (int i = 0; i < times; ++i) {
    ASSIGN_OR_RETURN(const Answer answer, ask());
    took.push_back(answer.took);
  }
  for (size_t i = 0; i < pids.size(); ++i) {
    cost.cpu[i] = (cost.cpu[i] + CpuTimeOf(pids[i])) / times;
  }
  std::sort(took.begin(), took.end());
  cost.median = Quantile(took, 0.5);
  cost.p99 = Quantile(took, 0.99);
  return cost;
}

absl::Status CheckSame(const Answer& expected, const Answer& answer,
                       const std::string& where) {
  constexpr double kTolerance = 1e-9;
  if (expected.values.empty() || expected.machines != answer.machines ||
      expected.values.size() != answer.values.size()) {
    return absl::DataLossError(absl::StrCat(
        where, ", the answer has ", answer.values.size(), " values, not ",
        expected.values.size(), ", or those of other machines"));
  }
  for (size_t i = 0; i < answer.values.size(); ++i) {
    const double value = expected.values[i];
    if (std::abs(answer.values[i] - value) <= kTolerance * std::abs(value)) {
      continue;
    }
    return absl::DataLossError(absl::StrFormat(
        "%s, value %d is %.17g, not %.17g", where, i, answer.values[i], value));
  }
  return absl::OkStatus();
}

absl::StatusOr<QueryCost> MeasureQuery(Question question, const Scope& scope,
                                       int times, Server* server) {
  Progress(absl::StrCat(server->name(), ": ", NameOf(question)));
  ASSIGN_OR_RETURN(AskCost cost,
                   MeasureAsk([&] { return server->Ask(question, scope); },
                              times, {server->pid()}));
  return QueryCost{.median = cost.median,
                   .p99 = cost.p99,
                   .cpu = cost.cpu.front(),
                   .answer = std::move(cost.answer)};
}

}  // namespace fleetperf::bench
