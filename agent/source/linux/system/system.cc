#include "agent/source/linux/system/system.h"

#include <iterator>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "agent/source/linux/counters.h"
#include "agent/source/linux/noted_file.h"
#include "agent/source/linux/text.h"
#include "agent/source/linux/units.h"
#include "agent/source/linux/uptime.h"
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
     "Kernel threads included. In a container, those of its PID namespace. "
     "Absent if the mount option hidepid hides those of other users."},
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
     "Absent before Linux 5.0."},
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
  if ((needed & kStatColumns) != 0) ReadStat(sample);
  if ((needed & kLoadColumns) != 0) ReadLoadAverage(sample);
  if ((needed & kUptimeColumns) != 0) ReadUptime(sample);
  if (Has(needed, kProcesses)) CountProcesses(clocks, sample);
  if ((needed & kFileColumns) != 0) ReadFiles(sample);
  if ((needed & kInodeColumns) != 0) ReadInodes(sample);
  if ((needed & kDirectoryEntryColumns) != 0) ReadDirectoryEntries(sample);
  if ((needed & kProcessorColumns) != 0) CountProcessors(clocks, sample);
  if ((needed & kClockColumns) != 0) AddClock(sample);
  return absl::OkStatus();
}

void System::ReadStat(CountersetSample* sample) {
  auto text = ReadOrNote(stat_, &buffer_, sample);
  if (!text.has_value()) return;
  uint64_t cpus = 0;
  std::optional<uint64_t> switches;
  std::optional<uint64_t> created;
  std::optional<uint64_t> running;
  std::optional<uint64_t> blocked;
  absl::string_view line;
  while (NextLine(&*text, &line)) {
    const absl::string_view key = NextWord(&line);
    if (absl::StartsWith(key, "cpu") && key.size() > 3) {
      ++cpus;
    } else if (key == "ctxt") {
      switches = NextNumber(&line);
    } else if (key == "processes") {
      created = NextNumber(&line);
    } else if (key == "procs_running") {
      running = NextNumber(&line);
    } else if (key == "procs_blocked") {
      blocked = NextNumber(&line);
    }
  }
  // The agent's process was created, and runs.
  if (created == 0 || running == 0) return NoteStub(stat_, sample);
  sample->Set(kContextSwitchesPerSec, switches);
  sample->Set(kProcessesCreatedPerSec, created);
  sample->Set(kProcessesBlocked, blocked);
  sample->Set(kProcessesRunning, running);
  if (!running.has_value() || cpus == 0) return;
  sample->Set(kProcessorQueueLength, *running > cpus ? *running - cpus : 0);
}

// Parses "0.29 0.13 0.05 1/74 2352": three averages, then running/all threads.
void System::ReadLoadAverage(CountersetSample* sample) {
  auto text = ReadCountsOrNote(load_average_, &buffer_, sample);
  if (!text.has_value()) return;
  for (const Column column : {kLoadAverage1, kLoadAverage5, kLoadAverage15}) {
    absl::string_view word = NextWord(&*text);
    sample->Set(column, NextHundredths(&word));
  }
  absl::string_view threads = NextWord(&*text);
  NextNumber(&threads);
  if (absl::ConsumePrefix(&threads, "/")) {
    sample->Set(kThreads, NextNumber(&threads));
  }
}

void System::ReadUptime(CountersetSample* sample) {
  const auto text = ReadCountsOrNote(uptime_, &buffer_, sample);
  if (!text.has_value()) return;
  const std::optional<uint64_t> uptime = Uptime100NSec(*text);
  if (!uptime.has_value()) return;
  sample->Set(kSystemUpTime, 0);  // the start time on the clock set below
  sample->Set(kUptimeClock, *uptime);
  sample->Set(kUptimeFrequency, k100NSecPerSecond);
}

void System::CountProcesses(const Clocks& clocks, CountersetSample* sample) {
  const absl::StatusOr<size_t> processes = processes_->Count(clocks);
  if (!processes.ok()) return sample->Note(processes.status());
  if (!processes_->SeesOthers()) {
    return sample->Note(
        "\\System\\Processes is absent, because /proc is mounted with hidepid "
        "and shows only processes of the agent's user; grant CAP_SYS_PTRACE, "
        "or add the user to the group that the mount option gid names");
  }
  sample->Set(kProcesses, *processes);
}

// Parses "773 0 2466160": open files, a number that is always 0, the limit.
void System::ReadFiles(CountersetSample* sample) {
  auto text = file_nr_.Read(&buffer_);
  if (!text.ok()) return;
  const std::optional<uint64_t> files = NextNumber(&*text);
  NextNumber(&*text);
  const std::optional<uint64_t> limit = NextNumber(&*text);
  if (files.value_or(0) == 0) return;  // the agent has some
  sample->Set(kFiles, files);
  if (!limit.has_value()) return;
  sample->Set(kMaximumFiles, limit);
  sample->Set(kPercentFiles, files);
  sample->Set(kPercentFilesBase, limit);
}

void System::ReadInodes(CountersetSample* sample) {
  auto text = inode_nr_.Read(&buffer_);
  if (!text.ok()) return;
  const std::optional<uint64_t> inodes = NextNumber(&*text);
  if (inodes.value_or(0) == 0) return;
  sample->Set(kInodes, inodes);
  sample->Set(kInodesFree, NextNumber(&*text));
}

// Parses "216751 215131 45 0 96189 0": the third and fourth number are settings
// that have no effect. The fifth is 0 before Linux 5.0, which does not count.
void System::ReadDirectoryEntries(CountersetSample* sample) {
  auto text = dentry_state_.Read(&buffer_);
  if (!text.ok()) return;
  const std::optional<uint64_t> entries = NextNumber(&*text);
  if (entries.value_or(0) == 0) return;
  sample->Set(kDirectoryEntries, entries);
  sample->Set(kDirectoryEntriesUnused, NextNumber(&*text));
  NextWord(&*text);
  NextWord(&*text);
  const std::optional<uint64_t> negative = NextNumber(&*text);
  if (negative != 0) sample->Set(kDirectoryEntriesNegative, negative);
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
