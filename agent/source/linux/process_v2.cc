#include "agent/source/linux/process_v2.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "agent/source/linux/counters.h"
#include "agent/source/linux/process_list.h"
#include "agent/source/linux/text.h"
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
  kClock,
  kFrequency,
  kNumColumns
};

constexpr uint32_t kClockId = kFirstLinuxCounterId + 100;
constexpr uint32_t kFrequencyId = kFirstLinuxCounterId + 101;

constexpr CounterSpec kCounters[] = {
    {0, kPerf100NsecTimer, "% Processor Time",
     "Processor time; more than 100 % if several processors are used."},
    {1, kPerf100NsecTimer, "% User Time", "Processor time in user mode."},
    {2, kPerf100NsecTimer, "% Privileged Time",
     "Processor time in the kernel."},
    {3, kPerfElapsedTime, "Elapsed Time", "Time since the process started.",
     kNoCounter, kClockId, kFrequencyId},
    {4, kPerfCounterRawcount, "Thread Count", "Threads of the process."},
    {5, kPerfCounterRawcount, "Priority Base",
     "The kernel's priority: 20 is normal, less is more urgent; 0 for "
     "real-time "
     "threads."},
    {6, kPerfCounterRawcount, "Handle Count", "Open file descriptors."},
    {7, kPerfCounterCounter, "Page Faults/sec",
     "Page faults, with and without reading from disk."},
    {8, kPerfCounterLargeRawcount, "Virtual Bytes",
     "Size of the address space."},
    {9, kPerfCounterLargeRawcount, "Virtual Bytes Peak",
     "The largest size of the address space so far."},
    {10, kPerfCounterLargeRawcount, "Working Set",
     "Memory in use, shared memory included."},
    {11, kPerfCounterLargeRawcount, "Working Set Peak",
     "The largest working set so far."},
    {12, kPerfCounterLargeRawcount, "Working Set - Private",
     "Memory in use that is not backed by files (RssAnon)."},
    {13, kPerfCounterLargeRawcount, "Private Bytes",
     "Private memory, swapped-out memory included (RssAnon and VmSwap)."},
    {14, kPerfCounterLargeRawcount, "Page File Bytes",
     "Swapped-out memory (VmSwap)."},
    {15, kPerfCounterBulkCount, "IO Read Operations/sec",
     "System calls that read."},
    {16, kPerfCounterBulkCount, "IO Write Operations/sec",
     "System calls that write."},
    {17, kPerfCounterBulkCount, "IO Data Operations/sec",
     "System calls that read or write."},
    {18, kPerfCounterBulkCount, "IO Read Bytes/sec",
     "Bytes read, from disks and other sources."},
    {19, kPerfCounterBulkCount, "IO Write Bytes/sec",
     "Bytes written, to disks and other targets."},
    {20, kPerfCounterBulkCount, "IO Data Bytes/sec", "Bytes read and written."},
    {21, kPerfCounterRawcount, "ID Process", "The process's number."},
    {22, kPerfCounterRawcount, "Creating Process ID",
     "The parent process's number."},
    {kFirstLinuxCounterId + 0, kPerfCounterBulkCount, "Storage Read Bytes/sec",
     "Bytes that had to be read from disks."},
    {kFirstLinuxCounterId + 1, kPerfCounterBulkCount, "Storage Write Bytes/sec",
     "Bytes that had to be written to disks."},
    {kClockId, kPerfCounterLargeRawcount, "", ""},
    {kFrequencyId, kPerfCounterLargeRawcount, "", ""},
};
static_assert(std::size(kCounters) == kNumColumns);

constexpr ColumnSet kStatusColumns =
    Bit(kVirtualBytesPeak) | Bit(kWorkingSetPeak) | Bit(kWorkingSetPrivate) |
    Bit(kPrivateBytes) | Bit(kPageFileBytes);
constexpr ColumnSet kIoColumns =
    Bit(kReadOperationsPerSec) | Bit(kWriteOperationsPerSec) |
    Bit(kDataOperationsPerSec) | Bit(kReadBytesPerSec) |
    Bit(kWriteBytesPerSec) | Bit(kDataBytesPerSec) |
    Bit(kStorageReadBytesPerSec) | Bit(kStorageWriteBytesPerSec);

constexpr uint64_t kKernelThreadFlag = 0x00200000;  // PF_KTHREAD
constexpr uint32_t kKernelProcessId = 2;            // kthreadd, their parent
// The key of the reaped children in the totals. No process has pid 0.
constexpr uint64_t kReapedChildren = 0;

std::vector<TotalKind> TotalKinds() {
  std::vector<TotalKind> kinds(kNumColumns, TotalKind::kGrowth);
  for (const Column level :
       {kThreadCount, kHandleCount, kVirtualBytes, kVirtualBytesPeak,
        kWorkingSet, kWorkingSetPeak, kWorkingSetPrivate, kPrivateBytes,
        kPageFileBytes}) {
    kinds[level] = TotalKind::kSum;
  }
  for (const Column other : {kElapsedTime, kPriorityBase, kProcessId,
                             kCreatingProcessId, kClock, kFrequency}) {
    kinds[other] = TotalKind::kNone;
  }
  return kinds;
}

// Pids are reused. The pid and start time together identify a process.
uint64_t Identity(uint32_t pid, uint64_t start_jiffies) {
  constexpr int kPidBits = 22;  // the kernel's PID_MAX_LIMIT
  return start_jiffies << kPidBits | pid;
}

}  // namespace

ProcessV2::ProcessV2(const std::string& root, size_t max_open_files)
    : Provider(MakeRegistration(
          "{19198372-6c42-5181-88ad-e91e0127bdbc}", "Process V2",
          "Processes, as name:pid.",
          kCountersetMultipleInstances | kCountersetAggregate, kCounters)),
      root_(root),
      max_open_files_(max_open_files),
      page_size_(static_cast<uint64_t>(sysconf(_SC_PAGESIZE))),
      uptime_(root + "/proc/uptime", ProcFile::Kind::kSmall),
      kernel_totals_(TotalKinds(), NewInstance::kStartedAtZero),
      totals_(TotalKinds(), NewInstance::kStartedAtZero),
      utf16_kernel_name_(Utf16FromUtf8("kthreadd:2")),
      utf16_total_name_(Utf16FromUtf8(kAggregateInstance)) {}

absl::Status ProcessV2::Sample(ColumnSet needed, const Clocks&,
                               CountersetSample* sample) {
  RETURN_IF_ERROR(ListProcesses(root_ + "/proc", &pids_));
  ASSIGN_OR_RETURN(const absl::string_view uptime_text, uptime_.Read(&buffer_));
  const uint64_t uptime = Uptime100NSec(uptime_text);
  const auto set_clock = [&] {
    sample->Set(kClock, uptime);
    sample->Set(kFrequency, k100NSecPerSecond);
  };

  ++pass_;
  open_files_ = static_cast<size_t>(std::count_if(
      processes_.begin(), processes_.end(),
      [](const auto& entry) { return entry.second.stat.is_open(); }));
  totals_.Begin();
  kernel_totals_.Begin();
  reaped_children_.Begin();
  kernel_threads_.Reset(kNumColumns);
  for (const uint32_t pid : pids_) {
    Stat stat;
    Process* process;
    if (!ReadStat(pid, &stat, &process)) continue;
    const bool is_kernel_thread = stat.IsKernelThread();
    CountersetSample* rows = is_kernel_thread ? &kernel_threads_ : sample;
    rows->AddInstance(process->utf16_name, pid);
    AddProcess(pid, stat, is_kernel_thread ? 0 : needed, rows);
    const size_t row = rows->rows() - 1;
    const uint64_t identity = Identity(pid, stat.start_jiffies);
    Totals& totals = is_kernel_thread ? kernel_totals_ : totals_;
    totals.Add(identity, rows->Row(row), rows->Present(row));
    if (is_kernel_thread) continue;
    set_clock();
    AddToReapedChildren(pid, stat);
  }
  absl::erase_if(processes_, [this](const auto& entry) {
    return entry.second.pass != pass_;
  });

  if (kernel_threads_.rows() > 0) {
    sample->AddInstance(utf16_kernel_name_, kKernelProcessId);
    sample->Set(kProcessId, kKernelProcessId);
    sample->Set(kElapsedTime, 0);  // started with the machine
    set_clock();
    kernel_totals_.Finish(sample);
    const size_t row = sample->rows() - 1;
    totals_.Add(kKernelProcessId, sample->Row(row), sample->Present(row));
  }
  sample->AddInstance(utf16_total_name_, 0);
  for (const Column of_none :
       {kElapsedTime, kPriorityBase, kProcessId, kCreatingProcessId}) {
    sample->Set(of_none, 0);
  }
  set_clock();
  AddReapedChildren();
  totals_.Finish(sample);
  return absl::OkStatus();
}

bool ProcessV2::ReadStat(uint32_t pid, Stat* stat, Process** process) {
  auto entry = processes_.find(pid);
  absl::StatusOr<absl::string_view> text = absl::NotFoundError("");
  bool was_open = false;
  if (entry != processes_.end()) {
    was_open = entry->second.stat.is_open();
    text = entry->second.stat.Read(&buffer_);
  }
  if (!text.ok()) {
    // First sight, or the process ended and the pid may have been reused.
    if (entry != processes_.end()) processes_.erase(entry);
    was_open = false;
    entry = processes_.try_emplace(pid, PathOf(pid, "stat")).first;
    text = entry->second.stat.Read(&buffer_);
  }
  if (!text.ok() || !ParseStat(*text, stat)) {
    processes_.erase(entry);
    return false;
  }
  *process = &entry->second;
  (*process)->pass = pass_;
  if (!was_open && open_files_++ >= max_open_files_) {
    (*process)->stat.Close();
    --open_files_;
  }
  if ((*process)->name != stat->name || (*process)->utf16_name.empty()) {
    (*process)->name = std::string(stat->name);
    (*process)->utf16_name = Utf16FromUtf8(absl::StrCat(stat->name, ":", pid));
  }
  return true;
}

// Parses "2353 (cat) R 2342 ...". The name may contain any character, including
// ")".
bool ProcessV2::ParseStat(absl::string_view text, Stat* stat) {
  const size_t open = text.find('(');
  const size_t close = text.rfind(')');
  if (open == absl::string_view::npos || close == absl::string_view::npos ||
      close < open) {
    return false;
  }
  stat->name = text.substr(open + 1, close - open - 1);
  text.remove_prefix(close + 1);
  // Field numbers as in proc(5); the state is field 3.
  for (int field = 3; field <= 24; ++field) {
    absl::string_view word = NextWord(&text);
    const uint64_t number = NumberOrZero(&word);
    switch (field) {
      case 4:
        stat->parent = number;
        break;
      case 9:
        stat->flags = number;
        break;
      case 10:  // without and
      case 12:  // with reading from disk
        stat->page_faults += number;
        break;
      case 14:
        stat->user_jiffies = number;
        break;
      case 15:
        stat->system_jiffies = number;
        break;
      case 16:
        stat->children_user_jiffies = number;
        break;
      case 17:
        stat->children_system_jiffies = number;
        break;
      case 18:
        stat->priority = number;  // negative for real-time threads: 0 here
        break;
      case 20:
        stat->threads = number;
        break;
      case 22:
        stat->start_jiffies = number;
        break;
      case 23:
        stat->virtual_bytes = number;
        break;
      case 24:
        stat->resident_pages = number;
        break;
      default:
        break;
    }
  }
  return true;
}

bool ProcessV2::Stat::IsKernelThread() const {
  return (flags & kKernelThreadFlag) != 0;
}

void ProcessV2::AddProcess(uint32_t pid, const Stat& stat, ColumnSet needed,
                           CountersetSample* sample) {
  sample->Set(kProcessorTime,
              (stat.user_jiffies + stat.system_jiffies) * k100NSecPerJiffy);
  sample->Set(kUserTime, stat.user_jiffies * k100NSecPerJiffy);
  sample->Set(kPrivilegedTime, stat.system_jiffies * k100NSecPerJiffy);
  sample->Set(kElapsedTime, stat.start_jiffies * k100NSecPerJiffy);
  sample->Set(kThreadCount, stat.threads);
  sample->Set(kPriorityBase, stat.priority);
  sample->Set(kPageFaultsPerSec, stat.page_faults);
  sample->Set(kVirtualBytes, stat.virtual_bytes);
  sample->Set(kWorkingSet, stat.resident_pages * page_size_);
  sample->Set(kProcessId, pid);
  sample->Set(kCreatingProcessId, stat.parent);
  if ((needed & kStatusColumns) != 0) ReadStatus(pid, sample);
  if ((needed & kIoColumns) != 0) ReadIo(pid, sample);
  if (Has(needed, kHandleCount)) CountHandles(pid, sample);
}

void ProcessV2::AddToReapedChildren(uint32_t pid, const Stat& stat) {
  reaped_children_.Add(
      pid, {.identity = Identity(pid, stat.start_jiffies),
            .parent = static_cast<uint32_t>(stat.parent),
            .own = {.user = stat.user_jiffies, .system = stat.system_jiffies},
            .children = {.user = stat.children_user_jiffies,
                         .system = stat.children_system_jiffies}});
}

void ProcessV2::AddReapedChildren() {
  reaped_jiffies_ += reaped_children_.Finish([this](uint32_t pid) {
    ProcFile stat(PathOf(pid, "stat"), ProcFile::Kind::kSmall);
    return !stat.Read(&buffer_).ok();
  });
  const auto [user, system] = reaped_jiffies_;
  std::vector<uint64_t> values(kNumColumns);
  values[kProcessorTime] = (user + system) * k100NSecPerJiffy;
  values[kUserTime] = user * k100NSecPerJiffy;
  values[kPrivilegedTime] = system * k100NSecPerJiffy;
  totals_.Add(kReapedChildren, values,
              Bit(kProcessorTime) | Bit(kUserTime) | Bit(kPrivilegedTime));
}

void ProcessV2::ReadStatus(uint32_t pid, CountersetSample* sample) {
  // The list of groups can be long, so the file is not kSmall.
  auto text = ProcFile(PathOf(pid, "status")).Read(&buffer_);
  if (!text.ok()) return;
  uint64_t anonymous = 0;
  uint64_t swapped = 0;
  absl::string_view line;
  while (NextLine(&*text, &line)) {
    const absl::string_view key = NextWord(&line);
    const auto bytes = [&] { return NumberOrZero(&line) * kBytesPerKib; };
    if (key == "VmPeak:") {
      sample->Set(kVirtualBytesPeak, bytes());
    } else if (key == "VmHWM:") {
      sample->Set(kWorkingSetPeak, bytes());
    } else if (key == "RssAnon:") {
      anonymous = bytes();
    } else if (key == "VmSwap:") {
      swapped = bytes();
      break;  // the last of these lines
    }
  }
  sample->Set(kWorkingSetPrivate, anonymous);
  sample->Set(kPrivateBytes, anonymous + swapped);
  sample->Set(kPageFileBytes, swapped);
}

// Reading another user's process needs CAP_SYS_PTRACE. The values are absent
// without it.
void ProcessV2::ReadIo(uint32_t pid, CountersetSample* sample) {
  auto text =
      ProcFile(PathOf(pid, "io"), ProcFile::Kind::kSmall).Read(&buffer_);
  if (!text.ok()) return;
  // Lines such as "rchar: 6976", in this order.
  uint64_t values[6] = {};
  absl::string_view line;
  for (uint64_t& value : values) {
    if (!NextLine(&*text, &line)) return;
    NextWord(&line);
    value = NumberOrZero(&line);
  }
  const auto [read_chars, write_chars, reads, writes, read_bytes, write_bytes] =
      values;
  sample->Set(kReadOperationsPerSec, reads);
  sample->Set(kWriteOperationsPerSec, writes);
  sample->Set(kDataOperationsPerSec, reads + writes);
  sample->Set(kReadBytesPerSec, read_chars);
  sample->Set(kWriteBytesPerSec, write_chars);
  sample->Set(kDataBytesPerSec, read_chars + write_chars);
  sample->Set(kStorageReadBytesPerSec, read_bytes);
  sample->Set(kStorageWriteBytesPerSec, write_bytes);
}

void ProcessV2::CountHandles(uint32_t pid, CountersetSample* sample) {
  const std::string path = PathOf(pid, "fd");
  struct stat directory;
  if (stat(path.c_str(), &directory) != 0) return;
  // Since Linux 6.2, the size of the directory is the number of descriptors.
  if (directory.st_size > 0) {
    sample->Set(kHandleCount, static_cast<uint64_t>(directory.st_size));
    return;
  }
  std::error_code error;
  std::filesystem::directory_iterator entries(path, error);
  if (error) return;
  uint64_t count = 0;
  for (; !error && entries != std::filesystem::directory_iterator();
       entries.increment(error)) {
    ++count;
  }
  if (!error) sample->Set(kHandleCount, count);
}

std::string ProcessV2::PathOf(uint32_t pid, absl::string_view file) const {
  return absl::StrCat(root_, "/proc/", pid, "/", file);
}

}  // namespace fleetperf::agent
