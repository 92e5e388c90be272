// A server that takes a fleet's samples and answers questions about them: what
// a benchmark needs of fleetperf and of those that it is compared with.

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

// Bytes in its files.
struct DiskUse {
  uint64_t data = 0;
  uint64_t index = 0;  // what finds the data
  // Both, before the server removed what is out of date, if that was not yet
  // done when it had settled.
  std::optional<uint64_t> before_compaction;
};

enum class Question {
  kRawSeries,    // each sample of one series
  kAverageRate,  // the average rate over all machines, step by step
  kTopMachines,  // the kTop machines with the largest average of a gauge
};
inline constexpr int kTop = 10;

// What a question is about: times are in (start, end].
struct Scope {
  std::string machine;  // of the one series
  absl::Time start;
  absl::Time end;
  absl::Duration step;  // of the average rate
};

struct Answer {
  absl::Duration took;                // until all of it had come
  std::vector<std::string> machines;  // of kTopMachines, largest first
  std::vector<double> values;
};

// A process of its own, with an empty store. Thread-compatible.
class Server {
 public:
  virtual ~Server() = default;

  virtual const std::string& name() const = 0;
  virtual pid_t pid() const = 0;

  // Encodes the samples of a workload, so that sending them costs little. A
  // server gets one workload.
  virtual absl::Status Prepare(const Workload& workload,
                               int ticks_per_message) = 0;
  // How many samples that is.
  virtual uint64_t prepared_samples() const = 0;
  // Sends them as fast as they are taken, until all are acknowledged.
  virtual absl::Status Send() = 0;
  // Waits until they are kept as they will be for good.
  virtual absl::Status Settle() = 0;

  // How many samples of the workload queries find.
  virtual absl::StatusOr<uint64_t> CountSamples() = 0;
  // Asks about a workload of a FleetWorkload.
  virtual absl::StatusOr<Answer> Ask(Question question, const Scope& scope) = 0;

  // How long a process takes, from its start to its end, that asks the same on
  // the command line. Nothing: there is none.
  virtual absl::StatusOr<std::optional<absl::Duration>> AskByCommand(
      Question, const Scope&) {
    return std::nullopt;
  }

  // The last call: the server may be stopped for it.
  virtual absl::StatusOr<DiskUse> MeasureDisk() = 0;
};

}  // namespace fleetperf::bench

#endif  // FLEETPERF_TESTS_BENCH_SERVER_H_
