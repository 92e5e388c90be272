// The memory that the process may use.

#ifndef FLEETPERF_BASE_OS_MEMORY_LIMIT_H_
#define FLEETPERF_BASE_OS_MEMORY_LIMIT_H_

#include <cstdint>
#include <string>

namespace fleetperf {

// Returns the machine's memory in bytes, or the lowest limit of the process's
// control group and its parents, if that is lower. Limits are memory.max and
// memory.high of cgroup v2, and memory.limit_in_bytes of v1; a process may be
// in a group of each. Parents outside of a container count only in v1, which
// shows their limit inside. What cannot be read limits nothing. `root` is the
// directory below which /proc and the mount points of cgroups are.
uint64_t MemoryLimit(const std::string& root = "");

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_OS_MEMORY_LIMIT_H_
