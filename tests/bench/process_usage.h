// What another process uses.

#ifndef FLEETPERF_TESTS_BENCH_PROCESS_USAGE_H_
#define FLEETPERF_TESTS_BENCH_PROCESS_USAGE_H_

#include <sys/types.h>

#include <cstdint>

#include "absl/time/time.h"

namespace fleetperf::bench {

// CPU time of all its threads so far, in user and kernel mode.
absl::Duration CpuTimeOf(pid_t pid);

// The most of its memory that was resident at once, in bytes.
uint64_t PeakMemoryOf(pid_t pid);

// Waits until the process has used next to no CPU for `time`.
void AwaitQuiet(pid_t pid, absl::Duration time);

}  // namespace fleetperf::bench

#endif  // FLEETPERF_TESTS_BENCH_PROCESS_USAGE_H_
