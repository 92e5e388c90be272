// The resource usage of this process.

#ifndef FLEETPERF_BASE_PROCESS_USAGE_H_
#define FLEETPERF_BASE_PROCESS_USAGE_H_

#include <cstdint>

#include "absl/time/time.h"

namespace fleetperf {

struct ProcessUsage {
  absl::Duration cpu_time;  // user and kernel time of all threads so far
  uint64_t resident_bytes = 0;
  uint64_t threads = 0;
  uint64_t open_files = 0;  // descriptors; handles on Windows
};

// Values that the system does not provide are 0. Thread-safe.
ProcessUsage GetProcessUsage();

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_PROCESS_USAGE_H_
