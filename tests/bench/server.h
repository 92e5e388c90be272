// A server that stores a fleet's samples and answers queries: the common
// interface of fleetperf and the servers that it is compared with.

#ifndef FLEETPERF_TESTS_BENCH_SERVER_H_
#define FLEETPERF_TESTS_BENCH_SERVER_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tests/bench/machine_workload.h"

namespace fleetperf::bench {

// Bytes in a server's files.
struct DiskUse {
  uint64_t data = 0;
  uint64_t index = 0;  // used to find the data
  // Data and index before the server removed obsolete data. std::nullopt if a
  // settled server has no obsolete data.
  std::optional<uint64_t> before_compaction;
};

enum class Question {
  kRawSeries,    // each sample of one series
  kAverageRate,  // the average rate over all machines, step by step
  kTopMachines,  // the kTop machines with the largest average of a gauge
};
inline constexpr int kTop = 10;

// The scope of a question. Samples have times in (start, end].
struct Scope {
  std::string machine;  // of kRawSeries
  absl::Time start;
  absl::Time end;
  absl::Duration step;  // of kAverageRate
};

struct Answer {
  absl::Duration took;                // until the answer was complete
  std::vector<std::string> machines;  // of kTopMachines, largest first
  std::vector<double> values;
};

// A separate process with an empty store. Thread-compatible.
class Server {
 public:
  virtual ~Server() = default;

  virtual const std::string& name() const = 0;
  virtual pid_t pid() const = 0;

  // Encodes the samples of a workload in advance, so that sending them costs
  // little. Called once per server.
  virtual absl::Status Prepare(const Workload& workload,
                               int ticks_per_message) = 0;
  // The number of encoded samples.
  virtual uint64_t prepared_samples() const = 0;
  // Sends the samples as fast as the server accepts them, and waits until all
  // are acknowledged.
  virtual absl::Status Send() = 0;
  // Waits until the samples are in their final form on disk.
  virtual absl::Status Settle() = 0;

  // Returns the number of the workload's samples that queries find.
  virtual absl::StatusOr<uint64_t> CountSamples() = 0;
  // Runs a query. The workload must be from a FleetWorkload.
  virtual absl::StatusOr<Answer> Ask(Question question, const Scope& scope) = 0;

  // Runs the same query with a command-line process and returns the lifetime of
  // that process. std::nullopt if the server has no such command.
  virtual absl::StatusOr<std::optional<absl::Duration>> AskByCommand(
      Question, const Scope&) {
    return std::nullopt;
  }

  // Must be the last call: it may stop the server.
  virtual absl::StatusOr<DiskUse> MeasureDisk() = 0;
};

}  // namespace fleetperf::bench

#endif  // FLEETPERF_TESTS_BENCH_SERVER_H_
