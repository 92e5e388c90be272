// Queries an aggregator on a channel that stays open.

#ifndef FLEETPERF_TESTS_BENCH_FLEETPERF_QUERIES_H_
#define FLEETPERF_TESTS_BENCH_FLEETPERF_QUERIES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/tls/credentials.h"
#include "tests/bench/server.h"

namespace fleetperf::bench {

// Thread-compatible.
class FleetperfQueries {
 public:
  // `tls` is a reader's.
  static absl::StatusOr<std::unique_ptr<FleetperfQueries>> Connect(
      const std::string& address, const TlsFiles& tls);
  ~FleetperfQueries();

  // See Server::Ask.
  absl::StatusOr<Answer> Ask(Question question, const Scope& scope);

  // Returns the number of raw samples of a machine's countersets. Times are
  // those of a query.
  absl::StatusOr<uint64_t> CountSamples(
      const std::string& machine,
      const std::vector<WorkloadCounterset>& countersets, absl::Time start,
      absl::Time end);

 private:
  struct Channel;

  explicit FleetperfQueries(std::unique_ptr<Channel> channel);

  const std::unique_ptr<Channel> channel_;
};

// Returns the arguments of `fleetperf` for the same question.
std::vector<std::string> CommandLineOf(Question question, const Scope& scope);

}  // namespace fleetperf::bench

#endif  // FLEETPERF_TESTS_BENCH_FLEETPERF_QUERIES_H_
