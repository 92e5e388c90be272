// Lists the running processes.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_PROCESS_PROCESS_LIST_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_PROCESS_PROCESS_LIST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace fleetperf::agent {

// Replaces `pids` with the process ids in the directory `proc`, in ascending
// order. A listed process may end at any time.
absl::Status ListProcesses(const std::string& proc,
                           std::vector<uint32_t>* pids);

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_PROCESS_PROCESS_LIST_H_
