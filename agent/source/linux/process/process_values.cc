#include "agent/source/linux/process/process_values.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <optional>
#include <system_error>

#include "absl/strings/string_view.h"
#include "agent/source/linux/process/process_counters.h"
#include "agent/source/linux/sysfs.h"
#include "agent/source/linux/text.h"
#include "agent/source/linux/units.h"

namespace fleetperf::agent {
namespace {

// Since Linux 6.2, each CPU may hold back max(32, 2 * CPUs) pages of a
// process's size from stat: 2 MiB in total with 16 CPUs, 32 MiB with 64.
constexpr uint64_t kManyCpus = 16;

// Of /proc/PID/io, in its order. The kernel adds lines at the end.
constexpr absl::string_view kIoKeys[] = {
    "rchar:", "wchar:", "syscr:", "syscw:", "read_bytes:", "write_bytes:"};

}  // namespace

ProcessValues::ProcessValues(const std::string& root, ProcessReader* reader)
    : reader_(*reader),
      page_size_(static_cast<uint64_t>(sysconf(_SC_PAGESIZE))),
      has_many_cpus_(CountListFile(root + "/sys/devices/system/cpu/online",
                                   kMaxCpus) >= kManyCpus) {}

void ProcessValues::Set(const ProcessStat& stat, ColumnSet needed,
                        ProcessReader::Process* process,
                        CountersetSample* sample) {
  sample->Set(kProcessId, process->pid);
  SetStat(stat, sample);
  if (has_many_cpus_ && Has(needed, kWorkingSet)) {
    SetWorkingSet(process->pid, sample);
  }
  if ((needed & kStatusColumns) != 0) SetStatus(process->pid, sample);
  if ((needed & kIoColumns) != 0) SetIo(process->pid, sample);
  if (Has(needed, kHandleCount)) SetHandles(process->pid, sample);
  if ((needed & kThreadColumns) != 0) SetThreads(stat, process, sample);
  if ((needed & kRollupColumns) != 0) SetRollup(process->pid, sample);
  if (Has(needed, kOomScore)) SetOomScore(process->pid, sample);
}

void ProcessValues::SetStat(const ProcessStat& stat,
                            CountersetSample* sample) const {
  sample->Set(kProcessorTime, (stat.user + stat.system) * k100NSecPerJiffy);
  sample->Set(kUserTime, stat.user * k100NSecPerJiffy);
  sample->Set(kPrivilegedTime, stat.system * k100NSecPerJiffy);
  sample->Set(kThreadCount, stat.threads);
  sample->Set(kPriorityBase, stat.priority);
  sample->Set(kPageFaultsPerSec, stat.minor_faults + stat.major_faults);
  sample->Set(kMajorPageFaultsPerSec, stat.major_faults);
  sample->Set(kVirtualBytes, stat.virtual_bytes);
  sample->Set(kWorkingSet, stat.resident_pages * page_size_);
  sample->Set(kCreatingProcessId, stat.parent);
  sample->Set(kRunning, stat.state == 'R');
  sample->Set(kUninterruptible, stat.state == 'D');
  sample->Set(kStopped, stat.state == 'T' || stat.state == 't');
  sample->Set(kZombie, stat.state == 'Z');
}

// statm has the counts of all CPUs, at least since Linux 6.18.
void ProcessValues::SetWorkingSet(uint32_t pid, CountersetSample* sample) {
  auto text = ProcFile(reader_.PathOf(pid, "statm"), ProcFile::Kind::kSmall)
                  .Read(&buffer_);
  if (!text.ok()) return;
  NextWord(&*text);
  if (const auto pages = NextNumber(&*text)) {
    sample->Set(kWorkingSet, *pages * page_size_);
  }
}

void ProcessValues::SetStatus(uint32_t pid, CountersetSample* sample) {
  // The list of groups can be long, so the file is not kSmall.
  auto text = ProcFile(reader_.PathOf(pid, "status")).Read(&buffer_);
  if (!text.ok()) return;
  // Zombies have none of the lines.
  std::optional<uint64_t> anonymous;
  std::optional<uint64_t> swapped;
  int missing = 4;
  absl::string_view line;
  while (missing > 0 && NextLine(&*text, &line)) {
    const absl::string_view key = NextWord(&line);
    const auto bytes = [&] {
      --missing;
      return Times(NextNumber(&line), kBytesPerKib);
    };
    if (key == "VmPeak:") {
      sample->Set(kVirtualBytesPeak, bytes());
    } else if (key == "VmHWM:") {
      sample->Set(kWorkingSetPeak, bytes());
    } else if (key == "RssAnon:") {
      anonymous = bytes();
    } else if (key == "VmSwap:") {
      swapped = bytes();
    }
  }
  sample->Set(kWorkingSetPrivate, anonymous);
  sample->Set(kPrivateBytes, Sum(anonymous, swapped));
  sample->Set(kPageFileBytes, swapped);
}

// Another user's process needs CAP_DAC_READ_SEARCH to open the file, and
// CAP_SYS_PTRACE to read it. The values are absent without them.
void ProcessValues::SetIo(uint32_t pid, CountersetSample* sample) {
  auto text = ProcFile(reader_.PathOf(pid, "io"), ProcFile::Kind::kSmall)
                  .Read(&buffer_);
  if (!text.ok()) return;
  // Lines such as "rchar: 6976".
  std::array<std::optional<uint64_t>, std::size(kIoKeys)> values;
  absl::string_view line;
  while (NextLine(&*text, &line)) {
    const absl::string_view key = NextWord(&line);
    const auto found = std::find(std::begin(kIoKeys), std::end(kIoKeys), key);
    if (found == std::end(kIoKeys)) continue;
    values[static_cast<size_t>(found - std::begin(kIoKeys))] =
        NextNumber(&line);
  }
  const auto [read_chars, write_chars, reads, writes, read_bytes, write_bytes] =
      values;
  sample->Set(kReadOperationsPerSec, reads);
  sample->Set(kWriteOperationsPerSec, writes);
  sample->Set(kDataOperationsPerSec, Sum(reads, writes));
  sample->Set(kReadBytesPerSec, read_chars);
  sample->Set(kWriteBytesPerSec, write_chars);
  sample->Set(kDataBytesPerSec, Sum(read_chars, write_chars));
  sample->Set(kStorageReadBytesPerSec, read_bytes);
  sample->Set(kStorageWriteBytesPerSec, write_bytes);
}

void ProcessValues::SetHandles(uint32_t pid, CountersetSample* sample) const {
  const std::string path = reader_.PathOf(pid, "fd");
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

void ProcessValues::SetThreads(const ProcessStat& stat,
                               ProcessReader::Process* process,
                               CountersetSample* sample) {
  std::string directory = reader_.PathOf(process->pid, "task");
  if (!process->threads.Update(directory, process->pid, stat.threads,
                               &buffer_)) {
    return;
  }
  const ThreadCounts& total = process->threads.total();
  sample->Set(kVoluntarySwitchesPerSec, total.voluntary_switches);
  sample->Set(kInvoluntarySwitchesPerSec, total.involuntary_switches);
  if (total.has_run_delay) {
    sample->Set(kRunDelay, total.run_delay / kNSecPer100NSec);
  }
}

void ProcessValues::SetRollup(uint32_t pid, CountersetSample* sample) {
  auto text = ProcFile(reader_.PathOf(pid, "smaps_rollup")).Read(&buffer_);
  if (!text.ok()) return;
  std::optional<uint64_t> clean;
  std::optional<uint64_t> dirty;
  absl::string_view line;
  while (NextLine(&*text, &line)) {
    const absl::string_view key = NextWord(&line);
    if (key == "Pss:") {
      sample->Set(kProportionalSetSize, Times(NextNumber(&line), kBytesPerKib));
    } else if (key == "Private_Clean:") {
      clean = NextNumber(&line);
    } else if (key == "Private_Dirty:") {
      dirty = NextNumber(&line);
    }
  }
  sample->Set(kUniqueSetSize, Times(Sum(clean, dirty), kBytesPerKib));
}

void ProcessValues::SetOomScore(uint32_t pid, CountersetSample* sample) {
  auto text = ProcFile(reader_.PathOf(pid, "oom_score"), ProcFile::Kind::kSmall)
                  .Read(&buffer_);
  if (!text.ok()) return;
  sample->Set(kOomScore, NextNumber(&*text));
}

}  // namespace fleetperf::agent
