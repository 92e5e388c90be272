// What this process uses of its machine.

#ifndef FLEETPERF_BASE_PROCESS_USAGE_H_
#define FLEETPERF_BASE_PROCESS_USAGE_H_

#include <cstdint>

#include "absl/time/time.h"

namespace fleetperf {

struct ProcessUsage {
  absl::Duration cpu_time;  // of all its threads so far, user and kernel mode
  uint64_t resident_bytes = 0;
  uint64_t threads = 0;
  uint64_t open_files = 0;  // descriptors, on Windows handles
};

// What the system does not tell is 0. Thread-safe.
ProcessUsage GetProcessUsage();

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_PROCESS_USAGE_H_
