// The memory that the process may use.

#ifndef FLEETPERF_AGGREGATOR_MEMORY_LIMIT_H_
#define FLEETPERF_AGGREGATOR_MEMORY_LIMIT_H_

#include <cstdint>
#include <string>

namespace fleetperf::aggregator {

// Returns the machine's memory in bytes, or the limit of the process's control
// group or of one of its parents, if it is lower. `cgroups` is the mount point
// of cgroup v2, and `process` is the path of the process's group.
uint64_t MemoryLimit(const std::string& cgroups = "/sys/fs/cgroup",
                     const std::string& process = "/proc/self/cgroup");

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_MEMORY_LIMIT_H_
