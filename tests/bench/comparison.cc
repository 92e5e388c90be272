#include "tests/bench/comparison.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
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

absl::StatusOr<QueryCost> MeasureQuery(Question question, const Scope& scope,
                                       int times, Server* server) {
  Progress(absl::StrCat(server->name(), ": ", NameOf(question)));
  QueryCost cost;
  ASSIGN_OR_RETURN(cost.answer, server->Ask(question, scope));
  std::vector<absl::Duration> took;
  const absl::Duration before = CpuTimeOf(server->pid());
  for (int i = 0; i < times; ++i) {
    ASSIGN_OR_RETURN(const Answer answer, server->Ask(question, scope));
    took.push_back(answer.took);
  }
  cost.cpu = (CpuTimeOf(server->pid()) - before) / times;
  std::sort(took.begin(), took.end());
  cost.median = Quantile(took, 0.5);
  cost.p99 = Quantile(took, 0.99);
  return cost;
}

}  // namespace fleetperf::bench
