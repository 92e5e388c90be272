// The flags that select machines: --machine and --label.

#ifndef FLEETPERF_CLI_MACHINE_FLAGS_H_
#define FLEETPERF_CLI_MACHINE_FLAGS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/status_macros.h"

namespace fleetperf::cli {

// As typed; empty if not given.
struct MachineFlags {
  std::string machine;              // a name with wildcards
  std::vector<std::string> labels;  // "role=web"
};

// Parses "role=web". Errors name --label.
absl::StatusOr<std::map<std::string, std::string>> ParseLabels(
    const std::vector<std::string>& labels);

// Sets the fields `machine` and `labels` of a request.
template <typename Request>
absl::Status SetMachines(const MachineFlags& flags, Request* request) {
  ASSIGN_OR_RETURN(const auto labels, ParseLabels(flags.labels));
  request->set_machine(flags.machine);
  request->mutable_labels()->insert(labels.begin(), labels.end());
  return absl::OkStatus();
}

}  // namespace fleetperf::cli

#endif  // FLEETPERF_CLI_MACHINE_FLAGS_H_
