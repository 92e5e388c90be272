// Bounds the reads of a remote machine's HKEY_PERFORMANCE_DATA, which may hang
// there or on the way.

#ifndef FLEETPERF_AGENT_SOURCE_WINDOWS_V1_DEADLINE_DATA_H_
#define FLEETPERF_AGENT_SOURCE_WINDOWS_V1_DEADLINE_DATA_H_

#include <atomic>
#include <memory>

#include "absl/time/time.h"
#include "agent/source/windows/v1/performance_data.h"
#include "base/clock.h"

namespace fleetperf::agent {

// The number of reads that hang on threads of their own.
using HangingReads = std::shared_ptr<std::atomic<int>>;
inline constexpr int kMaxHangingReads = 8;

// Each query runs on a thread of its own. After `timeout`, it fails with
// Aborted, its thread keeps the data, and the next query opens other data.
// While `hanging` counts kMaxHangingReads, or the system starts no thread,
// queries fail at once with Unavailable. `clock` must outlive the threads.
std::unique_ptr<PerformanceData> MakeDeadlineData(OpenPerformanceData open,
                                                  absl::Duration timeout,
                                                  HangingReads hanging,
                                                  const Clock* clock);

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_WINDOWS_V1_DEADLINE_DATA_H_
