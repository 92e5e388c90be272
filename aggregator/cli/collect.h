// What --collect asks for: that agents collect more while a command looks.

#ifndef FLEETPERF_AGGREGATOR_CLI_COLLECT_H_
#define FLEETPERF_AGGREGATOR_CLI_COLLECT_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "aggregator/cli/connection.h"

namespace fleetperf {
class StopSignal;
}  // namespace fleetperf

namespace fleetperf::cli {

// While it exists, and no longer than its duration, agents collect what the
// paths select. Thread-compatible.
class Collecting {
 public:
  // Texts as they were typed.
  struct Flags {
    std::vector<std::string> paths;
    std::string duration;
    std::string interval;  // empty: a second
  };

  // Returns when the paths can be asked for, having told on standard error what
  // is collected. Cancelled if `stop`, which may be null, comes before.
  static absl::StatusOr<std::unique_ptr<Collecting>> Begin(
      const Connection& connection, const Flags& flags, StopSignal* stop);

  ~Collecting();

  // Waits until its time is over.
  absl::Status WaitForEnd();

 private:
  class Stream;

  explicit Collecting(std::unique_ptr<Stream> stream);

  const std::unique_ptr<Stream> stream_;
};

}  // namespace fleetperf::cli

#endif  // FLEETPERF_AGGREGATOR_CLI_COLLECT_H_
