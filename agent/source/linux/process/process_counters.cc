#include "agent/source/linux/process/process_counters.h"

#include "perflib/counter_type.h"

namespace fleetperf::agent {
namespace {

using namespace perflib;  // the counter types

constexpr uint32_t kClockId = kFirstLinuxCounterId + 100;
constexpr uint32_t kFrequencyId = kFirstLinuxCounterId + 101;

constexpr char kIoRemark[] =
    "Absent for processes of other users without CAP_SYS_PTRACE and "
    "CAP_DAC_READ_SEARCH. Includes the children that the process has waited "
    "for, which `_Total` counts once.";
constexpr char kStoredRemark[] =
    "Counted when the page becomes dirty. Absent for processes of other users "
    "without CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH. Includes the children "
    "that the process has waited for, which `_Total` counts once.";
constexpr char kStateRemark[] =
    "Of the first thread. The average over a time is the share of samples in "
    "this state; `_Total` is the number of processes in it.";
constexpr char kThreadsRemark[] =
    "Only if a plan names the counter: two files are read for each thread. "
    "Lacks the activity of a thread after its last tick.";
constexpr char kRollupRemark[] =
    "Only if a plan names the counter: the kernel looks at each page, and the "
    "process cannot change its address space meanwhile. Absent for processes "
    "of other users without CAP_SYS_PTRACE.";

}  // namespace

constinit const LinuxCounter kProcessCounters[kNumProcessColumns] = {
    {{0, kPerf100NsecTimer, "% Processor Time",
      "Processor time; more than 100 % if several processors are used."},
     "%",
     "/proc/PID/stat utime, stime"},
    {{1, kPerf100NsecTimer, "% User Time", "Processor time in user mode."},
     "%",
     "/proc/PID/stat utime",
     "Split from the whole by samples on most kernels."},
    {{2, kPerf100NsecTimer, "% Privileged Time",
      "Processor time in the kernel."},
     "%",
     "/proc/PID/stat stime",
     "Split from the whole by samples on most kernels."},
    {{3, kPerfElapsedTime, "Elapsed Time", "Time since the process started.",
      kNoCounter, kClockId, kFrequencyId},
     "s",
     "/proc/PID/stat starttime, /proc/uptime"},
    {{4, kPerfCounterRawcount, "Thread Count", "Threads of the process."},
     "threads",
     "/proc/PID/stat num_threads"},
    {{5, kPerfCounterRawcount, "Priority Base",
      "The kernel's priority: 20 is normal, less is more urgent; 0 for "
      "real-time threads."},
     "",
     "/proc/PID/stat priority",
     "On Windows, more is more urgent."},
    {{6, kPerfCounterRawcount, "Handle Count", "Open file descriptors."},
     "descriptors",
     "/proc/PID/fd",
     "Since Linux 6.2 without listing the directory, which needs "
     "CAP_DAC_READ_SEARCH for processes of other users."},
    {{7, kPerfCounterCounter, "Page Faults/sec",
      "Page faults, with and without reading from disk."},
     "faults/s",
     "/proc/PID/stat minflt, majflt"},
    {{8, kPerfCounterLargeRawcount, "Virtual Bytes",
      "Size of the address space."},
     "bytes",
     "/proc/PID/stat vsize"},
    {{9, kPerfCounterLargeRawcount, "Virtual Bytes Peak",
      "The largest size of the address space so far."},
     "bytes",
     "/proc/PID/status VmPeak"},
    {{10, kPerfCounterLargeRawcount, "Working Set",
      "Memory in use, shared memory included."},
     "bytes",
     "/proc/PID/stat rss, from 16 CPUs on /proc/PID/statm resident",
     "The kernel counts it per CPU, and stat lags by up to 2 MiB with 16 CPUs, "
     "32 MiB with 64. statm is exact on recent kernels, but has to be opened "
     "at each reading."},
    {{11, kPerfCounterLargeRawcount, "Working Set Peak",
      "The largest working set so far."},
     "bytes",
     "/proc/PID/status VmHWM"},
    {{12, kPerfCounterLargeRawcount, "Working Set - Private",
      "Memory in use that is not backed by files."},
     "bytes",
     "/proc/PID/status RssAnon",
     "Private pages of files that were not written to are left out. Since "
     "Linux 4.5."},
    {{13, kPerfCounterLargeRawcount, "Private Bytes",
      "Private memory, swapped-out memory included."},
     "bytes",
     "/proc/PID/status RssAnon, VmSwap",
     "Memory that was never used is left out."},
    {{14, kPerfCounterLargeRawcount, "Page File Bytes", "Swapped-out memory."},
     "bytes",
     "/proc/PID/status VmSwap",
     "Swapped-out memory only; Windows counts what is committed."},
    {{15, kPerfCounterBulkCount, "IO Read Operations/sec",
      "System calls that read."},
     "reads/s",
     "/proc/PID/io syscr",
     kIoRemark},
    {{16, kPerfCounterBulkCount, "IO Write Operations/sec",
      "System calls that write."},
     "writes/s",
     "/proc/PID/io syscw",
     kIoRemark},
    {{17, kPerfCounterBulkCount, "IO Data Operations/sec",
      "System calls that read or write."},
     "operations/s",
     "/proc/PID/io syscr, syscw",
     kIoRemark},
    {{18, kPerfCounterBulkCount, "IO Read Bytes/sec",
      "Bytes read, from disks and other sources."},
     "bytes/s",
     "/proc/PID/io rchar",
     kIoRemark},
    {{19, kPerfCounterBulkCount, "IO Write Bytes/sec",
      "Bytes written, to disks and other targets."},
     "bytes/s",
     "/proc/PID/io wchar",
     kIoRemark},
    {{20, kPerfCounterBulkCount, "IO Data Bytes/sec",
      "Bytes read and written."},
     "bytes/s",
     "/proc/PID/io rchar, wchar",
     kIoRemark},
    {{21, kPerfCounterRawcount, "ID Process", "The process's number."},
     "",
     "/proc/PID/stat pid"},
    {{22, kPerfCounterRawcount, "Creating Process ID",
      "The parent process's number."},
     "",
     "/proc/PID/stat ppid",
     "The current parent: 1 or a subreaper once the creator has ended."},
    {{kFirstLinuxCounterId + 0, kPerfCounterBulkCount, "Storage Read Bytes/sec",
      "Bytes that had to be read from disks."},
     "bytes/s",
     "/proc/PID/io read_bytes",
     kIoRemark},
    {{kFirstLinuxCounterId + 1, kPerfCounterBulkCount,
      "Storage Write Bytes/sec", "Bytes that had to be written to disks."},
     "bytes/s",
     "/proc/PID/io write_bytes",
     kStoredRemark},
    {{kFirstLinuxCounterId + 2, kPerfCounterCounter, "Major Page Faults/sec",
      "Page faults that read from disk."},
     "faults/s",
     "/proc/PID/stat majflt"},
    {{kFirstLinuxCounterId + 3, kPerfCounterRawcount, "Running",
      "1 if the process runs or is ready to run."},
     "",
     "/proc/PID/stat state R",
     kStateRemark},
    {{kFirstLinuxCounterId + 4, kPerfCounterRawcount, "Uninterruptible",
      "1 if the process waits and no signal can end the wait, mostly for a "
      "disk."},
     "",
     "/proc/PID/stat state D",
     kStateRemark},
    {{kFirstLinuxCounterId + 5, kPerfCounterRawcount, "Stopped",
      "1 if the process is stopped by a signal or a debugger."},
     "",
     "/proc/PID/stat state T, t",
     kStateRemark},
    {{kFirstLinuxCounterId + 6, kPerfCounterRawcount, "Zombie",
      "1 if the process has ended and its parent has not waited for it."},
     "",
     "/proc/PID/stat state Z",
     "`_Total` is the number of zombies."},
    {{kFirstLinuxCounterId + 7, kPerfCounterBulkCount,
      "Voluntary Context Switches/sec",
      "Switches away from threads that wait."},
     "switches/s",
     "/proc/PID/task/TID/status voluntary_ctxt_switches",
     kThreadsRemark},
    {{kFirstLinuxCounterId + 8, kPerfCounterBulkCount,
      "Involuntary Context Switches/sec",
      "Switches away from threads that could go on."},
     "switches/s",
     "/proc/PID/task/TID/status nonvoluntary_ctxt_switches",
     kThreadsRemark},
    {{kFirstLinuxCounterId + 9, kPerf100NsecTimer, "% Run Delay",
      "Time in which threads were ready to run and had no processor; more than "
      "100 % if several threads waited."},
     "%",
     "/proc/PID/task/TID/schedstat, second field",
     kThreadsRemark},
    {{kFirstLinuxCounterId + 10, kPerfCounterLargeRawcount,
      "Proportional Set Size",
      "Memory in use; shared memory is divided by the number of processes that "
      "use it."},
     "bytes",
     "/proc/PID/smaps_rollup Pss",
     kRollupRemark},
    {{kFirstLinuxCounterId + 11, kPerfCounterLargeRawcount, "Unique Set Size",
      "Memory in use by no other process: what its end would free."},
     "bytes",
     "/proc/PID/smaps_rollup Private_Clean + Private_Dirty",
     kRollupRemark},
    {{kFirstLinuxCounterId + 12, kPerfCounterRawcount, "OOM Score",
      "The process with the highest score is ended first when memory runs "
      "out."},
     "",
     "/proc/PID/oom_score"},
    {{kClockId, kPerfCounterLargeRawcount, "", ""}, "", ""},
    {{kFrequencyId, kPerfCounterLargeRawcount, "", ""}, "", ""},
};

std::vector<TotalKind> ProcessTotalKinds() {
  std::vector<TotalKind> kinds(kNumProcessColumns, TotalKind::kGrowth);
  for (const ProcessColumn level :
       {kThreadCount, kHandleCount, kVirtualBytes, kVirtualBytesPeak,
        kWorkingSet, kWorkingSetPeak, kWorkingSetPrivate, kPrivateBytes,
        kPageFileBytes, kRunning, kUninterruptible, kStopped, kZombie,
        kProportionalSetSize, kUniqueSetSize}) {
    kinds[level] = TotalKind::kSum;
  }
  for (const ProcessColumn other :
       {kElapsedTime, kPriorityBase, kProcessId, kCreatingProcessId, kOomScore,
        kClock, kFrequency}) {
    kinds[other] = TotalKind::kNone;
  }
  for (size_t column = 0; column < kNumProcessColumns; ++column) {
    // The growth of a process contains that of its children: ProcessTotals.
    if (Has(kIoColumns, column)) kinds[column] = TotalKind::kNone;
  }
  return kinds;
}

}  // namespace fleetperf::agent
