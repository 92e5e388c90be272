// The counters of processes: Process V2, Process and Linux Cgroup Process.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_PROCESS_PROCESS_COUNTERS_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_PROCESS_PROCESS_COUNTERS_H_

#include <cstddef>
#include <vector>

#include "agent/source/linux/counters.h"
#include "agent/source/provider.h"
#include "agent/source/totals.h"

namespace fleetperf::agent {

enum ProcessColumn : size_t {
  kProcessorTime,
  kUserTime,
  kPrivilegedTime,
  kElapsedTime,
  kThreadCount,
  kPriorityBase,
  kHandleCount,
  kPageFaultsPerSec,
  kVirtualBytes,
  kVirtualBytesPeak,
  kWorkingSet,
  kWorkingSetPeak,
  kWorkingSetPrivate,
  kPrivateBytes,
  kPageFileBytes,
  kReadOperationsPerSec,
  kWriteOperationsPerSec,
  kDataOperationsPerSec,
  kReadBytesPerSec,
  kWriteBytesPerSec,
  kDataBytesPerSec,
  kProcessId,
  kCreatingProcessId,
  kStorageReadBytesPerSec,
  kStorageWriteBytesPerSec,
  kMajorPageFaultsPerSec,
  kRunning,
  kUninterruptible,
  kStopped,
  kZombie,
  kVoluntarySwitchesPerSec,
  kInvoluntarySwitchesPerSec,
  kRunDelay,
  kProportionalSetSize,
  kUniqueSetSize,
  kOomScore,
  kClock,
  kFrequency,
  kNumProcessColumns
};

extern const LinuxCounter kProcessCounters[kNumProcessColumns];

// The columns of each file.
inline constexpr ColumnSet kStatusColumns =
    Bit(kVirtualBytesPeak) | Bit(kWorkingSetPeak) | Bit(kWorkingSetPrivate) |
    Bit(kPrivateBytes) | Bit(kPageFileBytes);
inline constexpr ColumnSet kIoColumns =
    Bit(kReadOperationsPerSec) | Bit(kWriteOperationsPerSec) |
    Bit(kDataOperationsPerSec) | Bit(kReadBytesPerSec) |
    Bit(kWriteBytesPerSec) | Bit(kDataBytesPerSec) |
    Bit(kStorageReadBytesPerSec) | Bit(kStorageWriteBytesPerSec);
inline constexpr ColumnSet kThreadColumns = Bit(kVoluntarySwitchesPerSec) |
                                            Bit(kInvoluntarySwitchesPerSec) |
                                            Bit(kRunDelay);
inline constexpr ColumnSet kRollupColumns =
    Bit(kProportionalSetSize) | Bit(kUniqueSetSize);

// Too expensive to be read for a plan that asks for all counters.
inline constexpr ColumnSet kExpensiveColumns = kThreadColumns | kRollupColumns;

// How each column is added up in `_Total`.
std::vector<TotalKind> ProcessTotalKinds();

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_PROCESS_PROCESS_COUNTERS_H_
