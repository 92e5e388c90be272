// --collect: makes agents collect additional counters while a command runs.

#ifndef FLEETPERF_CLI_COLLECT_H_
#define FLEETPERF_CLI_COLLECT_H_

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/machine_flags.h"

namespace fleetperf {
class StopSignal;
}  // namespace fleetperf

namespace fleetperf::v1 {
class CollectMeanwhileRequest;
}  // namespace fleetperf::v1

namespace fleetperf::cli {

class Aggregators;

// Makes the agents of all aggregators collect the counters that the paths
// select, until the object is destroyed or the duration is over.
// Thread-compatible.
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
  // before. `aggregators` must outlive the object.
  static absl::StatusOr<std::unique_ptr<Collecting>> Begin(
      const Aggregators& aggregators, const Flags& flags, StopSignal* stop);

  ~Collecting();

  // Blocks until the duration is over.
  absl::Status WaitForEnd();

 private:
  struct Stream;

  Collecting(const Aggregators& aggregators,
             const v1::CollectMeanwhileRequest& request, StopSignal* stop);

  absl::Status AwaitSamples(const std::string& duration);
  // Calls `wait` for each stream and combines the results.
  absl::Status ForEachStream(
      absl::FunctionRef<absl::Status(Stream&)> wait) const;

  const Aggregators& aggregators_;
  StopSignal* const stop_;  // may be null
  // Of the aggregators in their order.
  std::vector<std::unique_ptr<Stream>> streams_;
  std::thread stopper_;
};

}  // namespace fleetperf::cli

#endif  // FLEETPERF_CLI_COLLECT_H_
