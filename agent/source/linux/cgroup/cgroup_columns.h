// The columns of Linux Cgroup.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_CGROUP_CGROUP_COLUMNS_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_CGROUP_CGROUP_COLUMNS_H_

#include <cstddef>

namespace fleetperf::agent::cgroup_columns {

enum Column : size_t {
  kProcessorTime,
  kUserTime,
  kPrivilegedTime,
  kProcessorLimit,
  kPeriodsPerSec,
  kThrottledPeriods,
  kThrottledPeriodsBase,
  kThrottledTime,
  kMemoryBytes,
  kMemoryPeakBytes,
  kMemoryLimitBytes,
  kMemoryUsed,
  kMemoryUsedBase,
  kSwapBytes,
  kMemoryHighEvents,
  kMemoryLimitEvents,
  kOutOfMemoryEvents,
  kOutOfMemoryKills,
  kAnonymousBytes,
  kFileBytes,
  kKernelBytes,
  kSocketBytes,
  kSharedBytes,
  kDirtyBytes,
  kSlabBytes,
  kInactiveFileBytes,
  kWorkingSet,
  kAnonymousRefaultsPerSec,
  kFileRefaultsPerSec,
  kPagesScannedPerSec,
  kPagesReclaimedPerSec,
  kPageFaultsPerSec,
  kMajorFaultsPerSec,
  kReadBytes,
  kWriteBytes,
  kReadOperations,
  kWriteOperations,
  kDiscardBytes,
  kTasks,
  kTaskLimit,
  kTaskLimitEvents,
  kCpuSomeStall,
  kCpuFullStall,
  kMemorySomeStall,
  kMemoryFullStall,
  kIoSomeStall,
  kIoFullStall,
  kNumColumns
};

}  // namespace fleetperf::agent::cgroup_columns

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_CGROUP_CGROUP_COLUMNS_H_
