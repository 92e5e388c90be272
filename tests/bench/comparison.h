// Measures the cost of a server: ingest, storage and queries.

#ifndef FLEETPERF_TESTS_BENCH_COMPARISON_H_
#define FLEETPERF_TESTS_BENCH_COMPARISON_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tests/bench/server.h"

namespace fleetperf::bench {

// Returns the `part` quantile of at least one duration, sorted ascending.
// `part` is in [0, 1].
absl::Duration Quantile(const std::vector<absl::Duration>& sorted, double part);

// Returns the start time for the samples of a comparison. A block of
// Prometheus starts at that time, and the two hours after the samples have
// passed.
absl::Time SomeHoursAgo();

inline constexpr Question kQuestions[] = {
    Question::kRawSeries, Question::kAverageRate, Question::kTopMachines};
// Returns a readable name.
std::string NameOf(Question question);

struct IngestCost {
  uint64_t samples = 0;
  absl::Duration acknowledged;  // CPU until all samples were acknowledged
  absl::Duration settled;       // CPU from then until the server had settled
  absl::Duration wall;          // time until all samples were acknowledged
  uint64_t peak_memory = 0;     // bytes
};

// Sends the workload and waits until the server has settled. DataLoss if a
// query then does not find all samples.
absl::StatusOr<IngestCost> MeasureIngest(const Workload& workload,
                                         int ticks_per_message, Server* server);

struct QueryCost {
  absl::Duration median;
  absl::Duration p99;
  absl::Duration cpu;  // of the server
  // Lifetime of a command-line process that runs the query. Not set by
  // MeasureQuery.
  std::optional<absl::Duration> command;
  Answer answer;
};

struct AskCost {
  absl::Duration median;
  absl::Duration p99;
  std::vector<absl::Duration> cpu;  // of each process
  Answer answer;                    // the first one
};

// Calls `ask` once to warm up, then `times` times. Also measures the
// average CPU time of each process in `pids`.
absl::StatusOr<AskCost> MeasureAsk(
    const std::function<absl::StatusOr<Answer>()>& ask, int times,
    const std::vector<pid_t>& pids);

// DataLoss if the answer of another way, `where`, differs by more than the
// order of additions explains, or if there are no values.
absl::Status CheckSame(const Answer& expected, const Answer& answer,
                       const std::string& where);

// Measures a query like MeasureAsk.
absl::StatusOr<QueryCost> MeasureQuery(Question question, const Scope& scope,
                                       int times, Server* server);

// All measurements of one server.
struct Result {
  std::string server;
  IngestCost ingest;
  std::vector<QueryCost> queries;  // by question; may be empty
  uint64_t peak_memory = 0;        // after the queries, in bytes
  DiskUse disk;
};

}  // namespace fleetperf::bench

#endif  // FLEETPERF_TESTS_BENCH_COMPARISON_H_
