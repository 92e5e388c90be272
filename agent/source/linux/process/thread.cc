#include "agent/source/linux/process/thread.h"

#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/source/linux/noted_file.h"
#include "agent/source/linux/process/process_list.h"
#include "agent/source/linux/process/thread_counts.h"
#include "agent/source/linux/units.h"
#include "agent/source/linux/uptime.h"
#include "base/status_macros.h"
#include "perflib/counter_type.h"
#include "perflib/layout.h"
#include "perflib/utf16.h"

namespace fleetperf::agent {
namespace {

using namespace perflib;  // the counter types

enum Column : size_t {
  kContextSwitchesPerSec,
  kProcessorTime,
  kUserTime,
  kPrivilegedTime,
  kElapsedTime,
  kPriorityCurrent,
  kThreadState,
  kProcessId,
  kThreadId,
  kVoluntarySwitchesPerSec,
  kInvoluntarySwitchesPerSec,
  kRunDelay,
  kPageFaultsPerSec,
  kUninterruptible,
  kClock,
  kFrequency,
  kNumColumns
};

constexpr uint32_t kClockId = kFirstLinuxCounterId + 100;
constexpr uint32_t kFrequencyId = kFirstLinuxCounterId + 101;

constexpr LinuxCounter kCounters[] = {
    {{0, kPerfCounterCounter, "Context Switches/sec",
      "Switches away from the thread."},
     "switches/s",
     "/proc/PID/task/TID/status voluntary_ctxt_switches, "
     "nonvoluntary_ctxt_switches",
     "On Windows, switches to the thread."},
    {{1, kPerf100NsecTimer, "% Processor Time", "Processor time."},
     "%",
     "/proc/PID/task/TID/stat utime, stime"},
    {{2, kPerf100NsecTimer, "% User Time", "Processor time in user mode."},
     "%",
     "/proc/PID/task/TID/stat utime"},
    {{3, kPerf100NsecTimer, "% Privileged Time",
      "Processor time in the kernel."},
     "%",
     "/proc/PID/task/TID/stat stime"},
    {{4, kPerfElapsedTime, "Elapsed Time", "Time since the thread started.",
      kNoCounter, kClockId, kFrequencyId},
     "s",
     "/proc/PID/task/TID/stat starttime, /proc/uptime"},
    {{5, kPerfCounterRawcount, "Priority Current", "The kernel's priority."},
     "",
     "/proc/PID/task/TID/stat priority",
     "20 is normal, less is more urgent; 0 for real-time threads. On Windows, "
     "more is more urgent."},
    {{6, kPerfCounterRawcount, "Thread State",
      "2 if the thread runs or is ready to run, 4 if it has ended, 5 if it "
      "waits, 7 if none of these."},
     "",
     "/proc/PID/task/TID/stat state",
     "The numbers of Windows. Linux does not tell 1 (ready) from 2 (runs). 5 "
     "is states S, D and I; 7 is stopped, T and t."},
    {{7, kPerfCounterRawcount, "ID Process", "The process's number."},
     "",
     "/proc"},
    {{8, kPerfCounterRawcount, "ID Thread", "The thread's number."},
     "",
     "/proc/PID/task"},
    {{kFirstLinuxCounterId + 0, kPerfCounterBulkCount,
      "Voluntary Context Switches/sec",
      "Switches away from the thread because it waits."},
     "switches/s",
     "/proc/PID/task/TID/status voluntary_ctxt_switches"},
    {{kFirstLinuxCounterId + 1, kPerfCounterBulkCount,
      "Involuntary Context Switches/sec",
      "Switches away from the thread while it could go on."},
     "switches/s",
     "/proc/PID/task/TID/status nonvoluntary_ctxt_switches"},
    {{kFirstLinuxCounterId + 2, kPerf100NsecTimer, "% Run Delay",
      "Time in which the thread was ready to run and had no processor."},
     "%",
     "/proc/PID/task/TID/schedstat, second field"},
    {{kFirstLinuxCounterId + 3, kPerfCounterCounter, "Page Faults/sec",
      "Page faults, with and without reading from disk."},
     "faults/s",
     "/proc/PID/task/TID/stat minflt, majflt"},
    {{kFirstLinuxCounterId + 4, kPerfCounterRawcount, "Uninterruptible",
      "1 if the thread waits and no signal can end the wait, mostly for a "
      "disk."},
     "",
     "/proc/PID/task/TID/stat state D",
     "The average over a time is the share of samples in this state."},
    {{kClockId, kPerfCounterLargeRawcount, "", ""}, "", ""},
    {{kFrequencyId, kPerfCounterLargeRawcount, "", ""}, "", ""},
};
static_assert(std::size(kCounters) == kNumColumns);

constexpr ColumnSet kSwitchColumns =
    Bit(kContextSwitchesPerSec) | Bit(kVoluntarySwitchesPerSec) |
    Bit(kInvoluntarySwitchesPerSec) | Bit(kRunDelay);

// Returns the number that Windows has for a state.
uint64_t ThreadState(char state) {
  switch (state) {
    case 'R':
      return 2;
    case 'Z':
    case 'X':
      return 4;
    case 'S':
    case 'D':
    case 'I':
      return 5;
    default:
      return 7;
  }
}

void SetStat(const ProcessStat& stat, CountersetSample* sample) {
  sample->Set(kProcessorTime, (stat.user + stat.system) * k100NSecPerJiffy);
  sample->Set(kUserTime, stat.user * k100NSecPerJiffy);
  sample->Set(kPrivilegedTime, stat.system * k100NSecPerJiffy);
  sample->Set(kPriorityCurrent, stat.priority);
  sample->Set(kThreadState, ThreadState(stat.state));
  sample->Set(kPageFaultsPerSec, stat.minor_faults + stat.major_faults);
  sample->Set(kUninterruptible, stat.state == 'D');
}

void SetCounts(const ThreadCounts& counts, CountersetSample* sample) {
  sample->Set(kContextSwitchesPerSec,
              counts.voluntary_switches + counts.involuntary_switches);
  sample->Set(kVoluntarySwitchesPerSec, counts.voluntary_switches);
  sample->Set(kInvoluntarySwitchesPerSec, counts.involuntary_switches);
  if (counts.has_run_delay) {
    sample->Set(kRunDelay, counts.run_delay / kNSecPer100NSec);
  }
}

}  // namespace

constinit const LinuxCounterset Thread::kCounterset = {
    .guid = "{87f00252-2a27-547a-9325-2173a87fc944}",
    .name = "Thread",
    .help = "Threads, as process/number.",
    .instance_type = kCountersetMultipleInstances,
    .instances = "`process/tid`, without kernel threads; no `_Total`",
    .counters = kCounters,
};

Thread::Thread(const std::string& root, std::shared_ptr<ProcessReader> reader,
               size_t max_threads)
    : Provider(MakeRegistration(kCounterset)),
      reader_(std::move(reader)),
      max_threads_(max_threads),
      uptime_file_(root + "/proc/uptime", ProcFile::Kind::kSmall) {}

absl::Status Thread::Sample(ColumnSet needed, const Clocks& clocks,
                            CountersetSample* sample) {
  RETURN_IF_ERROR(reader_->Begin(clocks));
  const auto uptime = ReadOrNote(uptime_file_, &buffer_, sample);
  uptime_ = uptime.has_value() ? Uptime100NSec(*uptime) : std::nullopt;
  uint64_t left_out = 0;
  for (const uint32_t pid : reader_->pids()) {
    ProcessStat stat;
    ProcessReader::Process* process = reader_->Read(pid, &stat);
    if (process == nullptr || stat.IsKernelThread()) continue;
    left_out += AddThreads(
        needed, pid, reader_->Utf16Name(*process, ProcessNaming::kName, clocks),
        sample);
  }
  reader_->Finish();
  if (left_out > 0) {
    sample->LeaveOut(left_out, absl::StrCat("of more than ", max_threads_,
                                            " threads, those with the highest "
                                            "process numbers are absent"));
  }
  return absl::OkStatus();
}

uint64_t Thread::AddThreads(ColumnSet needed, uint32_t pid,
                            absl::string_view utf16_process,
                            CountersetSample* sample) {
  if (!ListProcesses(reader_->PathOf(pid, "task"), &tids_).ok()) return 0;
  for (size_t i = 0; i < tids_.size(); ++i) {
    if (sample->rows() == max_threads_) return tids_.size() - i;
    AddThread(needed, pid, tids_[i], utf16_process, sample);
  }
  return 0;
}

void Thread::AddThread(ColumnSet needed, uint32_t pid, uint32_t tid,
                       absl::string_view utf16_process,
                       CountersetSample* sample) {
  const std::string directory =
      reader_->PathOf(pid, absl::StrCat("task/", tid));
  ProcFile file(directory + "/stat", ProcFile::Kind::kSmall);
  const auto line = file.Read(&buffer_);
  ProcessStat stat;
  if (!line.ok() || !ParseProcessStat(*line, &stat)) return;
  utf16_name_.assign(utf16_process.data(), utf16_process.size());
  utf16_name_ += Utf16FromUtf8(absl::StrCat("/", tid));
  sample->AddInstance(utf16_name_, tid);
  SetStat(stat, sample);
  sample->Set(kProcessId, pid);
  sample->Set(kThreadId, tid);
  if (uptime_.has_value()) {
    sample->Set(kElapsedTime, stat.start * k100NSecPerJiffy);
    sample->Set(kClock, *uptime_);
    sample->Set(kFrequency, k100NSecPerSecond);
  }
  ThreadCounts counts;
  if ((needed & kSwitchColumns) != 0 &&
      ReadThreadCounts(directory, &buffer_, &counts)) {
    SetCounts(counts, sample);
  }
}

}  // namespace fleetperf::agent
