// What a server costs: taking a workload in, keeping it, and answering.

#ifndef FLEETPERF_TESTS_BENCH_COMPARISON_H_
#define FLEETPERF_TESTS_BENCH_COMPARISON_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tests/bench/server.h"

namespace fleetperf::bench {

// Of at least one duration, sorted: what `part` of them do not exceed.
absl::Duration Quantile(const std::vector<absl::Duration>& sorted, double part);

// When the samples of a comparison begin: a block of Prometheus's does then,
// and the two hours after them are over, too.
absl::Time SomeHoursAgo();

inline constexpr Question kQuestions[] = {
    Question::kRawSeries, Question::kAverageRate, Question::kTopMachines};
// For people.
std::string NameOf(Question question);

struct IngestCost {
  uint64_t samples = 0;
  absl::Duration acknowledged;  // CPU until all was acknowledged
  absl::Duration settled;       // CPU from then on
  absl::Duration wall;          // time until all was acknowledged
  uint64_t peak_memory = 0;
};

// Sends the workload and waits until it is kept for good. DataLoss if not all
// samples are found then.
absl::StatusOr<IngestCost> MeasureIngest(const Workload& workload,
                                         int ticks_per_message, Server* server);

struct QueryCost {
  absl::Duration median;
  absl::Duration p99;
  absl::Duration cpu;  // of the server
  // From start to end of a process that asks; not set by MeasureQuery.
  std::optional<absl::Duration> command;
  Answer answer;
};

// Asks once, and then so many times.
absl::StatusOr<QueryCost> MeasureQuery(Question question, const Scope& scope,
                                       int times, Server* server);

// All of a server.
struct Result {
  std::string server;
  IngestCost ingest;
  std::vector<QueryCost> queries;  // by question, if any were asked
  uint64_t peak_memory = 0;        // after them
  DiskUse disk;
};

}  // namespace fleetperf::bench

#endif  // FLEETPERF_TESTS_BENCH_COMPARISON_H_
