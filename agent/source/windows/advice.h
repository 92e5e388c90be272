// Explains PerfLib errors and how to fix them.

#ifndef FLEETPERF_AGENT_SOURCE_WINDOWS_ADVICE_H_
#define FLEETPERF_AGENT_SOURCE_WINDOWS_ADVICE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace fleetperf::agent {

// Returns the status of a PerfLib function that failed with the Win32 error
// code `error` on `machine` (empty: this machine). The message names the
// function and, for common errors, the fix.
absl::Status PerfLibError(const std::string& machine, const char* function,
                          uint32_t error);

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_WINDOWS_ADVICE_H_
