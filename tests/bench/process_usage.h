// What another process uses.

#ifndef FLEETPERF_TESTS_BENCH_PROCESS_USAGE_H_
#define FLEETPERF_TESTS_BENCH_PROCESS_USAGE_H_

#include <sys/types.h>

#include <cstdint>

#include "absl/time/time.h"

namespace fleetperf::bench {

// CPU time of all its threads so far, in user and kernel mode.
absl::Duration CpuTimeOf(pid_t pid);

// How much of its memory is resident, and the most that was at once, in bytes.
uint64_t MemoryOf(pid_t pid);
uint64_t PeakMemoryOf(pid_t pid);

// Waits until the process has used next to no CPU for `time`.
void AwaitQuiet(pid_t pid, absl::Duration time);

}  // namespace fleetperf::bench

#endif  // FLEETPERF_TESTS_BENCH_PROCESS_USAGE_H_
