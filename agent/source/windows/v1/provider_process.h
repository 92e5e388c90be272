// Reads HKEY_PERFORMANCE_DATA in a process of its own.
//
// Reading it loads the DLLs of V1 providers, third-party code that may hang or
// crash. The process that it takes along is a child of the agent: the agent's
// own executable, which answers over its pipes, and which the agent ends and
// starts again.
//
// A request is a u32 size and a value in UTF-8. An answer is a u32 code, a u32
// size, and either the bytes (code 0) or a message. The code is that of an
// absl::Status. The agent trusts neither.

#ifndef FLEETPERF_AGENT_SOURCE_WINDOWS_V1_PROVIDER_PROCESS_H_
#define FLEETPERF_AGENT_SOURCE_WINDOWS_V1_PROVIDER_PROCESS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "agent/source/windows/v1/performance_data.h"
#include "base/os/child_process.h"

namespace fleetperf::agent {

// The name of the agent's command that runs ServePerformanceData.
inline constexpr char kProviderProcessCommand[] = "serve-v1-providers";

// Reads in a child process, which `command` starts at the first query and at
// the query after a failure. A query that takes longer than `timeout` ends the
// child. It fails with Aborted, as does one that the child does not
// survive; the message says how the child ended.
std::unique_ptr<PerformanceData> MakeProcessPerformanceData(
    std::vector<std::string> command, absl::Duration timeout);

// The child's side: answers the parent's requests from `data` until the parent
// closes the pipe, which is OK.
absl::Status ServePerformanceData(PerformanceData* data, ParentPipe* parent);

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_WINDOWS_V1_PROVIDER_PROCESS_H_
