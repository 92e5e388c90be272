#include "agent/source/linux/cgroup/linux_cgroup.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "agent/source/linux/cgroup/cgroup_columns.h"
#include "agent/source/linux/cgroup/device_sums.h"
#include "agent/source/linux/disk/disk_counters.h"
#include "agent/source/linux/pressure.h"
#include "agent/source/linux/text.h"
#include "agent/source/linux/units.h"
#include "perflib/counter_type.h"
#include "perflib/layout.h"

namespace fleetperf::agent {
namespace {

using namespace cgroup_columns;
using namespace perflib;  // the counter types

constexpr uint32_t kThrottledPeriodsBaseId = kFirstLinuxCounterId + 100;
constexpr uint32_t kMemoryUsedBaseId = kFirstLinuxCounterId + 101;

constexpr LinuxCounter kCounters[] = {
    {{0, kPerf100NsecTimer, "% Processor Time",
      "Processor time of the cgroup and those below."},
     "%",
     "cpu.stat usage_usec",
     "of one processor: exceeds 100 with several"},
    {{1, kPerf100NsecTimer, "% User Time", "Its part in user mode."},
     "%",
     "cpu.stat user_usec",
     "of one processor"},
    {{2, kPerf100NsecTimer, "% Privileged Time", "Its part in the kernel."},
     "%",
     "cpu.stat system_usec",
     "of one processor"},
    {{3, kPerfCounterRawcount, "% Processor Limit",
      "The processor time that the cgroup may use."},
     "%",
     "cpu.max quota / period",
     "of one processor; absent without a limit"},
    {{4, kPerfCounterCounter, "Periods/sec",
      "Periods in which the limit was enforced."},
     "1/s",
     "cpu.stat nr_periods",
     "0 without a limit"},
    {{5, kPerfSampleFraction, "% Throttled Periods",
      "Periods in which the limit stopped the cgroup, as a percentage of all.",
      kThrottledPeriodsBaseId},
     "%",
     "cpu.stat nr_throttled / nr_periods"},
    {{kThrottledPeriodsBaseId, kPerfSampleBase, "", ""}},
    {{6, kPerf100NsecTimer, "% Throttled Time",
      "Time in which the limit stopped the cgroup."},
     "%",
     "cpu.stat throttled_usec",
     "summed over processors: exceeds 100 with several"},
    {{7, kPerfCounterLargeRawcount, "Memory Bytes",
      "Memory charged to the cgroup and those below, with its file cache."},
     "bytes",
     "memory.current"},
    {{8, kPerfCounterLargeRawcount, "Memory Peak Bytes",
      "The maximum of Memory Bytes."},
     "bytes",
     "memory.peak",
     "since Linux 5.19"},
    {{9, kPerfCounterLargeRawcount, "Memory Limit Bytes",
      "The memory that the cgroup may use."},
     "bytes",
     "memory.max",
     "absent without a limit; a limit of a parent does not show"},
    {{10, kPerfRawFraction, "% Memory Used",
      "Memory Bytes as a percentage of Memory Limit Bytes.", kMemoryUsedBaseId},
     "%",
     "memory.current / memory.max",
     "absent without a limit; near 100 if the cgroup reads many files, because "
     "the cache is reclaimed only when the limit is reached"},
    {{kMemoryUsedBaseId, kPerfRawBase, "", ""}},
    {{11, kPerfCounterLargeRawcount, "Swap Bytes",
      "Swap space used by the cgroup and those below."},
     "bytes",
     "memory.swap.current"},
    {{12, kPerfCounterLargeDelta, "Memory High Events",
      "Times when the cgroup was slowed down to reclaim its memory."},
     "events",
     "memory.events high"},
    {{13, kPerfCounterLargeDelta, "Memory Limit Events",
      "Times when the cgroup was about to exceed its limit."},
     "events",
     "memory.events max"},
    {{14, kPerfCounterLargeDelta, "Out Of Memory Events",
      "Times when the limit made an allocation fail or a process end."},
     "events",
     "memory.events oom"},
    {{15, kPerfCounterLargeDelta, "Out Of Memory Kills",
      "Processes killed for lack of memory."},
     "processes",
     "memory.events oom_kill"},
    {{16, kPerfCounterLargeRawcount, "Anonymous Bytes",
      "Memory not backed by files."},
     "bytes",
     "memory.stat anon"},
    {{17, kPerfCounterLargeRawcount, "File Bytes",
      "Memory that holds file contents, with shared memory."},
     "bytes",
     "memory.stat file"},
    {{18, kPerfCounterLargeRawcount, "Kernel Bytes", "Memory of the kernel."},
     "bytes",
     "memory.stat kernel",
     "since Linux 5.18"},
    {{19, kPerfCounterLargeRawcount, "Socket Bytes",
      "Memory of network buffers."},
     "bytes",
     "memory.stat sock"},
    {{20, kPerfCounterLargeRawcount, "Shared Bytes",
      "Shared memory and tmpfs."},
     "bytes",
     "memory.stat shmem"},
    {{21, kPerfCounterLargeRawcount, "Dirty Bytes",
      "File contents that are not on disk yet."},
     "bytes",
     "memory.stat file_dirty"},
    {{22, kPerfCounterLargeRawcount, "Slab Bytes",
      "Data structures of the kernel."},
     "bytes",
     "memory.stat slab"},
    {{43, kPerfCounterLargeRawcount, "Inactive File Bytes",
      "File contents not used recently."},
     "bytes",
     "memory.stat inactive_file"},
    {{44, kPerfCounterLargeRawcount, "Working Set",
      "Memory Bytes without file contents not used recently."},
     "bytes",
     "memory.current - memory.stat inactive_file",
     "as Kubernetes counts"},
    {{23, kPerfCounterCounter, "Anonymous Refaults/sec",
      "Pages read from swap soon after they were written there."},
     "pages/s",
     "memory.stat workingset_refault_anon",
     "since Linux 5.9"},
    {{24, kPerfCounterCounter, "File Refaults/sec",
      "File pages needed again soon after they were reclaimed."},
     "pages/s",
     "memory.stat workingset_refault_file",
     "since Linux 5.9"},
    {{25, kPerfCounterCounter, "Pages Scanned/sec",
      "Pages that reclaim examined."},
     "pages/s",
     "memory.stat pgscan"},
    {{26, kPerfCounterCounter, "Pages Reclaimed/sec",
      "Pages that reclaim freed."},
     "pages/s",
     "memory.stat pgsteal"},
    {{27, kPerfCounterCounter, "Page Faults/sec",
      "Page faults, with and without reading from disk."},
     "faults/s",
     "memory.stat pgfault"},
    {{28, kPerfCounterCounter, "Page Reads/sec",
      "Page faults that had to read from disk."},
     "faults/s",
     "memory.stat pgmajfault"},
    {{29, kPerfCounterBulkCount, "IO Read Bytes/sec", "Bytes read from disks."},
     "bytes/s",
     "io.stat rbytes",
     "absent before the first I/O. Of all disks; device mapper, MD, loop and "
     "zram are left out, because "
     "their requests count again in the disks below"},
    {{30, kPerfCounterBulkCount, "IO Write Bytes/sec",
      "Bytes written to disks."},
     "bytes/s",
     "io.stat wbytes",
     "as IO Read Bytes/sec; cached writes count when they reach the disk"},
    {{31, kPerfCounterBulkCount, "IO Read Operations/sec", "Reads from disks."},
     "1/s",
     "io.stat rios",
     "as IO Read Bytes/sec"},
    {{32, kPerfCounterBulkCount, "IO Write Operations/sec", "Writes to disks."},
     "1/s",
     "io.stat wios",
     "as IO Read Bytes/sec"},
    {{33, kPerfCounterBulkCount, "IO Discard Bytes/sec", "Bytes discarded."},
     "bytes/s",
     "io.stat dbytes",
     "as IO Read Bytes/sec"},
    {{34, kPerfCounterRawcount, "Tasks",
      "Processes and threads of the cgroup and those below."},
     "tasks",
     "pids.current",
     "threads count, unlike in Windows' job objects"},
    {{35, kPerfCounterRawcount, "Task Limit", "The most tasks allowed."},
     "tasks",
     "pids.max",
     "absent without a limit"},
    {{36, kPerfCounterLargeDelta, "Task Limit Events",
      "Times when the limit made fork fail."},
     "events",
     "pids.events max"},
    {{37, kPerf100NsecTimer, "% CPU Some Stall Time",
      "Time in which at least one task waited for a processor."},
     "%",
     "cpu.pressure some total"},
    {{38, kPerf100NsecTimer, "% CPU Full Stall Time",
      "Time in which all tasks that were not idle waited for a processor."},
     "%",
     "cpu.pressure full total",
     "since Linux 5.13"},
    {{39, kPerf100NsecTimer, "% Memory Some Stall Time",
      "Time in which at least one task waited for memory."},
     "%",
     "memory.pressure some total"},
    {{40, kPerf100NsecTimer, "% Memory Full Stall Time",
      "Time in which all tasks that were not idle waited for memory."},
     "%",
     "memory.pressure full total"},
    {{41, kPerf100NsecTimer, "% IO Some Stall Time",
      "Time in which at least one task waited for a disk."},
     "%",
     "io.pressure some total"},
    {{42, kPerf100NsecTimer, "% IO Full Stall Time",
      "Time in which all tasks that were not idle waited for a disk."},
     "%",
     "io.pressure full total"},
};
static_assert(std::size(kCounters) == kNumColumns);
static_assert(kNumColumns <= 64);

constexpr KeyedTerm kCpuStat[] = {
    {"usage_usec", kProcessorTime, k100NSecPerMicrosecond},
    {"user_usec", kUserTime, k100NSecPerMicrosecond},
    {"system_usec", kPrivilegedTime, k100NSecPerMicrosecond},
    {"nr_periods", kPeriodsPerSec},
    {"nr_periods", kThrottledPeriodsBase},
    {"nr_throttled", kThrottledPeriods},
    {"throttled_usec", kThrottledTime, k100NSecPerMicrosecond},
};

constexpr KeyedTerm kMemoryEvents[] = {
    {"high", kMemoryHighEvents},
    {"max", kMemoryLimitEvents},
    {"oom", kOutOfMemoryEvents},
    {"oom_kill", kOutOfMemoryKills},
};

constexpr KeyedTerm kMemoryStat[] = {
    {"anon", kAnonymousBytes},
    {"file", kFileBytes},
    {"kernel", kKernelBytes},
    {"sock", kSocketBytes},
    {"shmem", kSharedBytes},
    {"file_dirty", kDirtyBytes},
    {"inactive_file", kInactiveFileBytes},
    {"slab", kSlabBytes},
    {"workingset_refault_anon", kAnonymousRefaultsPerSec},
    {"workingset_refault_file", kFileRefaultsPerSec},
    {"pgscan", kPagesScannedPerSec},
    {"pgsteal", kPagesReclaimedPerSec},
    {"pgfault", kPageFaultsPerSec},
    {"pgmajfault", kMajorFaultsPerSec},
};

constexpr KeyedTerm kPidsEvents[] = {{"max", kTaskLimitEvents}};

constexpr std::pair<absl::string_view, Column> kIoStat[] = {
    {"rbytes=", kReadBytes},    {"wbytes=", kWriteBytes},
    {"rios=", kReadOperations}, {"wios=", kWriteOperations},
    {"dbytes=", kDiscardBytes},
};
static_assert(std::size(kIoStat) <= DeviceSums::kMaxCounts);

constexpr ColumnSet kIoColumns = Bit(kReadBytes) | Bit(kWriteBytes) |
                                 Bit(kReadOperations) | Bit(kWriteOperations) |
                                 Bit(kDiscardBytes);
constexpr ColumnSet kMemoryUsedColumns =
    Bit(kMemoryUsed) | Bit(kMemoryUsedBase);

}  // namespace

constinit const LinuxCounterset LinuxCgroup::kCounterset = {
    .guid = "{ddca982b-0472-5c08-b6dd-0b6bf6c8b2ef}",
    .name = "Linux Cgroup",
    .help = "The control groups of services, containers and sessions.",
    .instance_type = kCountersetMultipleInstances,
    .instances =
        "paths: `/system.slice/nginx.service`, `/` for the machine. Containers "
        "have short names: `docker/0123456789ab`, `pod/UID`, "
        "`pod/UID/0123456789ab`. Values contain those of the cgroups below, so "
        "there is no `_Total`. At most 20000, the deepest are left out; new "
        "ones are found within ten seconds. The sources are files of version "
        "2. Where controllers have hierarchies of version 1, their files are "
        "read instead, and Memory High Events, Out Of Memory Events, refaults, "
        "reclaim, sockets, slab, discards and Task Limit Events are absent; "
        "pressure then needs a hierarchy of version 2 besides (hybrid). Of "
        "processor times that both versions have, those of version 1 are "
        "served",
    .counters = kCounters};

LinuxCgroup::LinuxCgroup(const std::string& root,
                         std::shared_ptr<Cgroups> cgroups)
    : Provider(MakeRegistration(kCounterset)),
      cgroups_(std::move(cgroups)),
      layered_devices_(root),
      cpu_stat_(kCpuStat),
      memory_events_(kMemoryEvents),
      memory_stat_(kMemoryStat),
      pids_events_(kPidsEvents) {
  ShareSelection(cgroups_->selection());
}

absl::Status LinuxCgroup::Sample(ColumnSet needed, const Clocks& clocks,
                                 CountersetSample* sample) {
  cgroups_->Update(clocks, sample);
  for (Cgroup& cgroup : cgroups_->all()) {
    sample->AddInstance(cgroup.utf16_name, static_cast<uint32_t>(cgroup.id));
    if (cgroups_->has_version1()) {
      version1_.AddColumns(needed, *cgroups_, cgroup, layered_devices_, clocks,
                           &buffer_, sample);
    }
    AddCpu(needed, cgroup, clocks, sample);
    AddMemory(needed, cgroup, clocks, sample);
    if ((needed & kIoColumns) != 0) AddIo(cgroup, clocks, sample);
    AddTasks(needed, cgroup, clocks, sample);
    AddPressure(needed, cgroup, clocks, sample);
  }
  return absl::OkStatus();
}

void LinuxCgroup::AddCpu(ColumnSet needed, Cgroup& cgroup, const Clocks& clocks,
                         CountersetSample* sample) {
  const bool has_times = sample->HasValue(sample->rows() - 1, kProcessorTime);
  if (!has_times && (needed & cpu_stat_.columns()) != 0) {
    if (const auto text =
            cgroups_->Read(cgroup, CgroupFile::kCpuStat, clocks, &buffer_)) {
      cpu_stat_.SetColumns(*text, sample);
    }
  }
  if (!Has(needed, kProcessorLimit)) return;
  // "QUOTA PERIOD", in microseconds, or "max PERIOD".
  auto text = cgroups_->Read(cgroup, CgroupFile::kCpuMax, clocks, &buffer_);
  if (!text.has_value()) return;
  const std::optional<uint64_t> quota = NextNumber(&*text);
  const uint64_t period = NextNumber(&*text).value_or(0);
  if (quota.has_value() && period != 0) {
    sample->Set(kProcessorLimit, *quota * 100 / period);
  }
}

void LinuxCgroup::AddMemory(ColumnSet needed, Cgroup& cgroup,
                            const Clocks& clocks, CountersetSample* sample) {
  if ((needed & kMemoryUsedColumns) != 0) {
    needed |= Bit(kMemoryBytes) | Bit(kMemoryLimitBytes);
  }
  if (Has(needed, kWorkingSet)) {
    needed |= Bit(kMemoryBytes) | Bit(kInactiveFileBytes);
  }
  AddNumber(needed, kMemoryBytes, CgroupFile::kMemoryCurrent, cgroup, clocks,
            sample);
  AddNumber(needed, kMemoryPeakBytes, CgroupFile::kMemoryPeak, cgroup, clocks,
            sample);
  AddNumber(needed, kMemoryLimitBytes, CgroupFile::kMemoryMax, cgroup, clocks,
            sample);
  AddNumber(needed, kSwapBytes, CgroupFile::kMemorySwapCurrent, cgroup, clocks,
            sample);
  const size_t row = sample->rows() - 1;
  if (sample->HasValue(row, kMemoryBytes) &&
      sample->HasValue(row, kMemoryLimitBytes)) {
    sample->Set(kMemoryUsed, sample->Value(row, kMemoryBytes));
    sample->Set(kMemoryUsedBase, sample->Value(row, kMemoryLimitBytes));
  }
  if ((needed & memory_events_.columns()) != 0) {
    if (const auto text = cgroups_->Read(cgroup, CgroupFile::kMemoryEvents,
                                         clocks, &buffer_)) {
      memory_events_.SetColumns(*text, sample);
    }
  }
  if ((needed & memory_stat_.columns()) != 0) {
    if (const auto text =
            cgroups_->Read(cgroup, CgroupFile::kMemoryStat, clocks, &buffer_)) {
      memory_stat_.SetColumns(*text, sample);
    }
  }
  if (sample->HasValue(row, kMemoryBytes) &&
      sample->HasValue(row, kInactiveFileBytes)) {
    const uint64_t bytes = sample->Value(row, kMemoryBytes);
    sample->Set(
        kWorkingSet,
        bytes - std::min(bytes, sample->Value(row, kInactiveFileBytes)));
  }
}

// Adds up records such as "8:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=5". A
// device without counts is only a number, and the next device may follow on the
// same line.
void LinuxCgroup::AddIo(Cgroup& cgroup, const Clocks& clocks,
                        CountersetSample* sample) {
  auto text = cgroups_->Read(cgroup, CgroupFile::kIoStat, clocks, &buffer_);
  if (!text.has_value()) return;
  cgroup.io.Begin();
  ColumnSet present = 0;
  absl::string_view line;
  while (NextLine(&*text, &line)) {
    std::optional<uint32_t> device;
    for (absl::string_view word = NextWord(&line); !word.empty();
         word = NextWord(&line)) {
      if (const auto next = ParseDeviceNumber(word)) {
        device = next;
      } else if (device.has_value()) {
        present |= AddIoField(*device, word, &cgroup.io);
      }
    }
  }
  const DeviceSums::Sums sums = cgroup.io.Finish();
  for (size_t i = 0; i < std::size(kIoStat); ++i) {
    const Column column = kIoStat[i].second;
    if (Has(present, column)) sample->Set(column, sums[i]);
  }
}

// Returns the field's column, or 0 if it is of no column or has no value. The
// counts of layered devices are known, but left out.
ColumnSet LinuxCgroup::AddIoField(uint32_t device, absl::string_view field,
                                  DeviceSums* sums) {
  for (size_t i = 0; i < std::size(kIoStat); ++i) {
    if (!absl::ConsumePrefix(&field, kIoStat[i].first)) continue;
    const std::optional<uint64_t> count = NextNumber(&field);
    if (!count.has_value()) return 0;
    if (!layered_devices_.Contains(device)) sums->CountsOf(device)[i] = count;
    return Bit(kIoStat[i].second);
  }
  return 0;
}

void LinuxCgroup::AddTasks(ColumnSet needed, Cgroup& cgroup,
                           const Clocks& clocks, CountersetSample* sample) {
  AddNumber(needed, kTasks, CgroupFile::kPidsCurrent, cgroup, clocks, sample);
  AddNumber(needed, kTaskLimit, CgroupFile::kPidsMax, cgroup, clocks, sample);
  if (!Has(needed, kTaskLimitEvents)) return;
  if (const auto text =
          cgroups_->Read(cgroup, CgroupFile::kPidsEvents, clocks, &buffer_)) {
    pids_events_.SetColumns(*text, sample);
  }
}

void LinuxCgroup::AddPressure(ColumnSet needed, Cgroup& cgroup,
                              const Clocks& clocks, CountersetSample* sample) {
  constexpr struct {
    CgroupFile file;
    Column some;
    Column full;
  } kResources[] = {
      {CgroupFile::kCpuPressure, kCpuSomeStall, kCpuFullStall},
      {CgroupFile::kMemoryPressure, kMemorySomeStall, kMemoryFullStall},
      {CgroupFile::kIoPressure, kIoSomeStall, kIoFullStall},
  };
  for (const auto& resource : kResources) {
    if (!Has(needed, resource.some) && !Has(needed, resource.full)) continue;
    const auto text = cgroups_->Read(cgroup, resource.file, clocks, &buffer_);
    if (!text.has_value()) continue;
    const StallTimes times = ParsePressure(*text);
    if (times.some.has_value()) sample->Set(resource.some, *times.some);
    if (times.full.has_value()) sample->Set(resource.full, *times.full);
  }
}

void LinuxCgroup::AddNumber(ColumnSet needed, size_t column, CgroupFile file,
                            Cgroup& cgroup, const Clocks& clocks,
                            CountersetSample* sample) {
  if (!Has(needed, column)) return;
  auto text = cgroups_->Read(cgroup, file, clocks, &buffer_);
  if (!text.has_value()) return;
  if (const auto number = NextNumber(&*text)) sample->Set(column, *number);
}

}  // namespace fleetperf::agent
