// Names in the kernel's tables of mounts and swaps.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_OCTAL_ESCAPES_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_OCTAL_ESCAPES_H_

#include <string>

#include "absl/strings/string_view.h"

namespace fleetperf::agent {

// Replaces "\040" and the like, which stand for white space and backslashes.
// "\000" stays, because no name has such a byte.
std::string DecodeOctal(absl::string_view text);

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_OCTAL_ESCAPES_H_
