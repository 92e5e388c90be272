// CPU and memory use of another process.

#ifndef FLEETPERF_TESTS_BENCH_PROCESS_USAGE_H_
#define FLEETPERF_TESTS_BENCH_PROCESS_USAGE_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "absl/time/time.h"

namespace fleetperf::bench {

// Returns the CPU time of all threads so far, in user and kernel mode.
absl::Duration CpuTimeOf(pid_t pid);

// Return the current and the peak resident memory in bytes.
uint64_t MemoryOf(pid_t pid);
uint64_t PeakMemoryOf(pid_t pid);

// Waits until the process, which has this number of open connections, has used
// almost no CPU for `time`.
void AwaitQuiet(pid_t pid, absl::Duration time, size_t connections);

}  // namespace fleetperf::bench

#endif  // FLEETPERF_TESTS_BENCH_PROCESS_USAGE_H_
