#include "agent/source/linux/system.h"

#include <iterator>
#include <utility>

#include "absl/strings/match.h"
#include "agent/source/linux/counters.h"
#include "agent/source/linux/text.h"
#include "agent/source/linux/units.h"
#include "agent/source/linux/uptime.h"
#include "base/status_macros.h"
#include "perflib/counter_type.h"
#include "perflib/layout.h"

namespace fleetperf::agent {
namespace {

using namespace perflib;  // the counter types

enum Column : size_t {
  kContextSwitchesPerSec,
  kProcesses,
  kThreads,
  kProcessorQueueLength,
  kSystemUpTime,
  kUptimeClock,
  kUptimeFrequency,
  kProcessesCreatedPerSec,
  kProcessesBlocked,
  kLoadAverage1,
  kLoadAverage5,
  kLoadAverage15,
  kProcessesRunning,
  kFiles,
  kMaximumFiles,
  kPercentFiles,
  kPercentFilesBase,
  kInodes,
  kInodesFree,
  kDirectoryEntries,
  kDirectoryEntriesUnused,
  kDirectoryEntriesNegative,
  kProcessorsOnline,
  kProcessorsOffline,
  kClockSynchronized,
  kClockOffset,
  kClockEstimatedError,
  kClockMaximumError,
  kNumColumns
};

constexpr uint32_t kClockId = kFirstLinuxCounterId + 100;
constexpr uint32_t kFrequencyId = kFirstLinuxCounterId + 101;
constexpr uint32_t kPercentFilesBaseId = kFirstLinuxCounterId + 102;
constexpr int32_t kLoadScale = -2;  // /proc/loadavg has two decimals
constexpr int32_t kMicroseconds = -6;

constexpr LinuxCounter kCounters[] = {
    {{0, kPerfCounterCounter, "Context Switches/sec",
      "Switches of all processors from one thread to another."},
     "switches/s",
     "/proc/stat ctxt"},
    {{1, kPerfCounterRawcount, "Processes", "Processes that exist."},
     "processes",
     "the directories `/proc/PID`",
     "Kernel threads included. In a container, those of its PID namespace."},
    {{2, kPerfCounterRawcount, "Threads", "Threads that exist."},
     "threads",
     "/proc/loadavg, 4th field",
     "Kernel threads included."},
    {{3, kPerfCounterRawcount, "Processor Queue Length",
      "Threads that are ready to run, less one for each processor."},
     "threads",
     "/proc/stat procs_running",
     "The kernel counts running threads, too. Threads that wait for one "
     "processor while another is free are missed."},
    {{4, kPerfElapsedTime, "System Up Time", "Time since the last start.",
      kNoCounter, kClockId, kFrequencyId},
     "s",
     "/proc/uptime",
     "Includes time suspended."},
    {{kClockId, kPerfCounterLargeRawcount, "", ""}, "", ""},
    {{kFrequencyId, kPerfCounterLargeRawcount, "", ""}, "", ""},
    {{kFirstLinuxCounterId + 0, kPerfCounterCounter, "Processes Created/sec",
      "Processes and threads that were started."},
     "processes/s",
     "/proc/stat processes",
     "Linux counts new threads as processes."},
    {{kFirstLinuxCounterId + 1, kPerfCounterRawcount, "Processes Blocked",
      "Threads that wait for I/O and cannot be interrupted."},
     "threads",
     "/proc/stat procs_blocked"},
    {{kFirstLinuxCounterId + 2, kPerfCounterRawcount, "Load Average 1 Minute",
      "Threads running or waiting for a processor or a disk, averaged over a "
      "minute.",
      kNoCounter, kNoCounter, kNoCounter, kLoadScale},
     "threads",
     "/proc/loadavg, 1st field"},
    {{kFirstLinuxCounterId + 3, kPerfCounterRawcount, "Load Average 5 Minutes",
      "The same, averaged over five minutes.", kNoCounter, kNoCounter,
      kNoCounter, kLoadScale},
     "threads",
     "/proc/loadavg, 2nd field"},
    {{kFirstLinuxCounterId + 4, kPerfCounterRawcount, "Load Average 15 Minutes",
      "The same, averaged over fifteen minutes.", kNoCounter, kNoCounter,
      kNoCounter, kLoadScale},
     "threads",
     "/proc/loadavg, 3rd field"},
    {{kFirstLinuxCounterId + 5, kPerfCounterRawcount, "Processes Running",
      "Threads that run or are ready to run."},
     "threads",
     "/proc/stat procs_running"},
    {{kFirstLinuxCounterId + 6, kPerfCounterLargeRawcount, "Files Open",
      "Open files of all processes."},
     "files",
     "/proc/sys/fs/file-nr, 1st field",
     "Descriptors that share an open file count once."},
    {{kFirstLinuxCounterId + 7, kPerfCounterLargeRawcount, "Files Open Limit",
      "The highest number of open files."},
     "files",
     "/proc/sys/fs/file-nr, 3rd field",
     "Of the machine; each process has its own limit, too."},
    {{kFirstLinuxCounterId + 8, kPerfRawFraction, "% Files Open Of Limit",
      "Files Open as a percentage of Files Open Limit.", kPercentFilesBaseId},
     "%",
     "/proc/sys/fs/file-nr, 1st and 3rd field",
     "Practically 0 under systemd, which sets the highest limit possible."},
    {{kPercentFilesBaseId, kPerfRawBase, "", ""}, "", ""},
    {{kFirstLinuxCounterId + 9, kPerfCounterLargeRawcount, "Inodes",
      "Inodes in the kernel's memory."},
     "inodes",
     "/proc/sys/fs/inode-nr, 1st field",
     "Not those on disk."},
    {{kFirstLinuxCounterId + 10, kPerfCounterLargeRawcount, "Inodes Free",
      "Inodes in memory that are not in use."},
     "inodes",
     "/proc/sys/fs/inode-nr, 2nd field"},
    {{kFirstLinuxCounterId + 11, kPerfCounterLargeRawcount, "Directory Entries",
      "Directory entries in the kernel's memory."},
     "entries",
     "/proc/sys/fs/dentry-state, 1st field"},
    {{kFirstLinuxCounterId + 12, kPerfCounterLargeRawcount,
      "Directory Entries Unused",
      "Directory entries in memory that are not in use."},
     "entries",
     "/proc/sys/fs/dentry-state, 2nd field"},
    {{kFirstLinuxCounterId + 13, kPerfCounterLargeRawcount,
      "Directory Entries Negative",
      "Unused directory entries of files that do not exist."},
     "entries",
     "/proc/sys/fs/dentry-state, 5th field",
     "0 before Linux 5.0."},
    {{kFirstLinuxCounterId + 14, kPerfCounterRawcount, "Processors Online",
      "Processors in use."},
     "processors",
     "/sys/devices/system/cpu/online",
     "Read every 10 s."},
    {{kFirstLinuxCounterId + 15, kPerfCounterRawcount, "Processors Offline",
      "Processors that are present but not in use."},
     "processors",
     "/sys/devices/system/cpu/present, online",
     "Read every 10 s."},
    {{kFirstLinuxCounterId + 16, kPerfCounterRawcount, "Clock Synchronized",
      "1 if a time service keeps the clock, else 0."},
     "",
     "adjtimex(2) status"},
    {{kFirstLinuxCounterId + 17, kPerfCounterLargeRawcount, "Clock Offset",
      "The offset of the clock that the kernel is correcting, without its "
      "sign.",
      kNoCounter, kNoCounter, kNoCounter, kMicroseconds},
     "s",
     "adjtimex(2) offset",
     "0 under chrony, which corrects the clock by itself."},
    {{kFirstLinuxCounterId + 18, kPerfCounterLargeRawcount,
      "Clock Estimated Error",
      "The time service's estimate of the clock's error.", kNoCounter,
      kNoCounter, kNoCounter, kMicroseconds},
     "s",
     "adjtimex(2) esterror"},
    {{kFirstLinuxCounterId + 19, kPerfCounterLargeRawcount,
      "Clock Maximum Error", "The highest possible error of the clock.",
      kNoCounter, kNoCounter, kNoCounter, kMicroseconds},
     "s",
     "adjtimex(2) maxerror",
     "Grows by 0.5 ms a second until the time service reports again; 16 s "
     "without one."},
};
static_assert(std::size(kCounters) == kNumColumns);

constexpr ColumnSet kStatColumns =
    Bit(kContextSwitchesPerSec) | Bit(kProcessorQueueLength) |
    Bit(kProcessesCreatedPerSec) | Bit(kProcessesBlocked) |
    Bit(kProcessesRunning);
constexpr ColumnSet kLoadColumns = Bit(kThreads) | Bit(kLoadAverage1) |
                                   Bit(kLoadAverage5) | Bit(kLoadAverage15);
constexpr ColumnSet kUptimeColumns =
    Bit(kSystemUpTime) | Bit(kUptimeClock) | Bit(kUptimeFrequency);

constexpr ColumnSet kFileColumns = Bit(kFiles) | Bit(kMaximumFiles) |
                                   Bit(kPercentFiles) | Bit(kPercentFilesBase);
constexpr ColumnSet kInodeColumns = Bit(kInodes) | Bit(kInodesFree);
constexpr ColumnSet kDirectoryEntryColumns = Bit(kDirectoryEntries) |
                                             Bit(kDirectoryEntriesUnused) |
                                             Bit(kDirectoryEntriesNegative);
constexpr ColumnSet kProcessorColumns =
    Bit(kProcessorsOnline) | Bit(kProcessorsOffline);
constexpr ColumnSet kClockColumns =
    Bit(kClockSynchronized) | Bit(kClockOffset) | Bit(kClockEstimatedError) |
    Bit(kClockMaximumError);

// Parses "0.29" as 29.
uint64_t NextHundredths(absl::string_view* text) {
  const uint64_t whole = NumberOrZero(text);
  if (!text->empty() && text->front() == '.') text->remove_prefix(1);
  return whole * 100 + NumberOrZero(text);
}

}  // namespace

constinit const LinuxCounterset System::kCounterset = {
    .guid = "{e230de28-3a98-59c7-93c5-bf691d2085ad}",
    .name = "System",
    .help = "The machine as a whole.",
    .instance_type = kCountersetSingleInstance,
    .counters = kCounters,
};

System::System(const std::string& root,
               std::shared_ptr<ProcessReader> processes, ReadClock read_clock)
    : Provider(MakeRegistration(kCounterset)),
      processes_(std::move(processes)),
      stat_(root + "/proc/stat"),
      load_average_(root + "/proc/loadavg", ProcFile::Kind::kSmall),
      uptime_(root + "/proc/uptime", ProcFile::Kind::kSmall),
      file_nr_(root + "/proc/sys/fs/file-nr", ProcFile::Kind::kSmall),
      inode_nr_(root + "/proc/sys/fs/inode-nr", ProcFile::Kind::kSmall),
      dentry_state_(root + "/proc/sys/fs/dentry-state", ProcFile::Kind::kSmall),
      read_clock_(std::move(read_clock)),
      processors_(root) {}

absl::Status System::Sample(ColumnSet needed, const Clocks& clocks,
                            CountersetSample* sample) {
  sample->AddInstance("", 0);
  if ((needed & kStatColumns) != 0) RETURN_IF_ERROR(ReadStat(sample));
  if ((needed & kLoadColumns) != 0) RETURN_IF_ERROR(ReadLoadAverage(sample));
  if ((needed & kUptimeColumns) != 0) RETURN_IF_ERROR(ReadUptime(sample));
  if (Has(needed, kProcesses)) RETURN_IF_ERROR(CountProcesses(clocks, sample));
  if ((needed & kFileColumns) != 0) ReadFiles(sample);
  if ((needed & kInodeColumns) != 0) ReadInodes(sample);
  if ((needed & kDirectoryEntryColumns) != 0) ReadDirectoryEntries(sample);
  if ((needed & kProcessorColumns) != 0) CountProcessors(clocks, sample);
  if ((needed & kClockColumns) != 0) AddClock(sample);
  return absl::OkStatus();
}

absl::Status System::ReadStat(CountersetSample* sample) {
  ASSIGN_OR_RETURN(absl::string_view text, stat_.Read(&buffer_));
  uint64_t cpus = 0;
  uint64_t running = 0;
  absl::string_view line;
  while (NextLine(&text, &line)) {
    const absl::string_view key = NextWord(&line);
    if (absl::StartsWith(key, "cpu") && key.size() > 3) {
      ++cpus;
    } else if (key == "ctxt") {
      sample->Set(kContextSwitchesPerSec, NumberOrZero(&line));
    } else if (key == "processes") {
      sample->Set(kProcessesCreatedPerSec, NumberOrZero(&line));
    } else if (key == "procs_running") {
      running = NumberOrZero(&line);
    } else if (key == "procs_blocked") {
      sample->Set(kProcessesBlocked, NumberOrZero(&line));
    }
  }
  sample->Set(kProcessesRunning, running);
  sample->Set(kProcessorQueueLength, running > cpus ? running - cpus : 0);
  return absl::OkStatus();
}

// Parses "0.29 0.13 0.05 1/74 2352": three averages, then running/all threads.
absl::Status System::ReadLoadAverage(CountersetSample* sample) {
  ASSIGN_OR_RETURN(absl::string_view text, load_average_.Read(&buffer_));
  for (const Column column : {kLoadAverage1, kLoadAverage5, kLoadAverage15}) {
    sample->Set(column, NextHundredths(&text));
  }
  NumberOrZero(&text);
  if (!text.empty()) text.remove_prefix(1);
  sample->Set(kThreads, NumberOrZero(&text));
  return absl::OkStatus();
}

absl::Status System::ReadUptime(CountersetSample* sample) {
  ASSIGN_OR_RETURN(const absl::string_view text, uptime_.Read(&buffer_));
  sample->Set(kSystemUpTime, 0);  // the start time on the clock set below
  sample->Set(kUptimeClock, Uptime100NSec(text));
  sample->Set(kUptimeFrequency, k100NSecPerSecond);
  return absl::OkStatus();
}

absl::Status System::CountProcesses(const Clocks& clocks,
                                    CountersetSample* sample) {
  ASSIGN_OR_RETURN(const size_t processes, processes_->Count(clocks));
  sample->Set(kProcesses, processes);
  return absl::OkStatus();
}

// Parses "773 0 2466160": open files, a number that is always 0, the limit.
void System::ReadFiles(CountersetSample* sample) {
  auto text = file_nr_.Read(&buffer_);
  if (!text.ok()) return;
  const uint64_t files = NumberOrZero(&*text);
  NumberOrZero(&*text);
  const auto limit = NextNumber(&*text);
  sample->Set(kFiles, files);
  if (!limit.has_value()) return;
  sample->Set(kMaximumFiles, *limit);
  sample->Set(kPercentFiles, files);
  sample->Set(kPercentFilesBase, *limit);
}

void System::ReadInodes(CountersetSample* sample) {
  auto text = inode_nr_.Read(&buffer_);
  if (!text.ok()) return;
  sample->Set(kInodes, NumberOrZero(&*text));
  sample->Set(kInodesFree, NumberOrZero(&*text));
}

// Parses "216751 215131 45 0 96189 0": the third and fourth number are settings
// that have no effect.
void System::ReadDirectoryEntries(CountersetSample* sample) {
  auto text = dentry_state_.Read(&buffer_);
  if (!text.ok()) return;
  sample->Set(kDirectoryEntries, NumberOrZero(&*text));
  sample->Set(kDirectoryEntriesUnused, NumberOrZero(&*text));
  NumberOrZero(&*text);
  NumberOrZero(&*text);
  sample->Set(kDirectoryEntriesNegative, NumberOrZero(&*text));
}

void System::CountProcessors(const Clocks& clocks, CountersetSample* sample) {
  processors_.Update(clocks);
  if (const auto online = processors_.online()) {
    sample->Set(kProcessorsOnline, *online);
  }
  if (const auto offline = processors_.offline()) {
    sample->Set(kProcessorsOffline, *offline);
  }
}

void System::AddClock(CountersetSample* sample) {
  const auto clock = read_clock_();
  if (!clock.has_value()) return;
  sample->Set(kClockSynchronized, clock->is_synchronized ? 1 : 0);
  sample->Set(kClockOffset, clock->offset_us);
  sample->Set(kClockEstimatedError, clock->estimated_error_us);
  sample->Set(kClockMaximumError, clock->maximum_error_us);
}

}  // namespace fleetperf::agent
