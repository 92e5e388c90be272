// Names of processes that are longer than the kernel keeps.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_PROCESS_PROCESS_NAME_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_PROCESS_PROCESS_NAME_H_

#include <cstddef>

#include "absl/strings/string_view.h"

namespace fleetperf::agent {

// The kernel cuts names after this many bytes.
inline constexpr size_t kMaxKernelName = 15;

// Returns the whole name of a process, if `name` is one that the kernel cut and
// `command_line`, the contents of /proc/PID/cmdline, has it; else `name`. It is
// the file name in the first argument, or in the second for a script. The
// result refers to one of the arguments.
absl::string_view WholeProcessName(absl::string_view name,
                                   absl::string_view command_line);

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_PROCESS_PROCESS_NAME_H_
