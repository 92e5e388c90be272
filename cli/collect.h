// --collect: makes agents collect additional counters while a command runs.

#ifndef FLEETPERF_CLI_COLLECT_H_
#define FLEETPERF_CLI_COLLECT_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/machine_flags.h"

namespace fleetperf {
class StopSignal;
}  // namespace fleetperf

namespace fleetperf::cli {

class Connection;

// Makes agents collect the counters that the paths select, until the object is
// destroyed or the duration is over. Thread-compatible.
class Collecting {
 public:
  // Flags as typed.
  struct Flags {
    std::vector<std::string> paths;
    std::string duration;
    std::string interval;  // empty: a second
    MachineFlags machines;
  };

  // Describes the collection on standard error and returns when queries can
  // find the paths. Returns Cancelled if `stop`, which may be null, is raised
  // before.
  static absl::StatusOr<std::unique_ptr<Collecting>> Begin(
      const Connection& connection, const Flags& flags, StopSignal* stop);

  ~Collecting();

  // Blocks until the duration is over.
  absl::Status WaitForEnd();

 private:
  class Stream;

  explicit Collecting(std::unique_ptr<Stream> stream);

  const std::unique_ptr<Stream> stream_;
};

}  // namespace fleetperf::cli

#endif  // FLEETPERF_CLI_COLLECT_H_
