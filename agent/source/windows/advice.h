// What to do about an error of PerfLib.

#ifndef FLEETPERF_AGENT_SOURCE_WINDOWS_ADVICE_H_
#define FLEETPERF_AGENT_SOURCE_WINDOWS_ADVICE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace fleetperf::agent {

// The status of a PerfLib function that returned the Win32 error code `error`
// for `machine` (empty: this one): what failed, and for the errors that people
// meet, what they can do.
absl::Status PerfLibError(const std::string& machine, const char* function,
                          uint32_t error);

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_WINDOWS_ADVICE_H_
