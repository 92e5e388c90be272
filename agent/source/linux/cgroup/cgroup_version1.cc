#include "agent/source/linux/cgroup/cgroup_version1.h"

#include "absl/strings/string_view.h"
#include "agent/source/linux/cgroup/cgroup_columns.h"
#include "agent/source/linux/cgroup/device_sums.h"
#include "agent/source/linux/disk/disk_counters.h"
#include "agent/source/linux/text.h"
#include "agent/source/linux/units.h"

namespace fleetperf::agent {
namespace {

using namespace cgroup_columns;

constexpr uint64_t kNanosecondsPer100Nsec = 100;

// From here on, a limit of memory means none: the kernel shows the largest
// number of pages, which depends on their size.
constexpr uint64_t kNoMemoryLimit = uint64_t{1} << 62;

// Values of the hierarchy below are named total_*.
constexpr KeyedTerm kMemoryStat[] = {
    {"total_cache", kFileBytes},
    {"total_rss", kAnonymousBytes},
    {"total_shmem", kSharedBytes},
    {"total_dirty", kDirtyBytes},
    {"total_swap", kSwapBytes},
    {"total_pgfault", kPageFaultsPerSec},
    {"total_pgmajfault", kMajorFaultsPerSec},
    {"total_inactive_file", kInactiveFileBytes},
};

constexpr KeyedTerm kCpuStat[] = {
    {"nr_periods", kPeriodsPerSec},
    {"nr_periods", kThrottledPeriodsBase},
    {"nr_throttled", kThrottledPeriods},
    {"throttled_time", kThrottledTime},  // in nanoseconds
};

constexpr KeyedTerm kOomControl[] = {{"oom_kill", kOutOfMemoryKills}};

constexpr ColumnSet kTimeColumns =
    Bit(kProcessorTime) | Bit(kUserTime) | Bit(kPrivilegedTime);
constexpr ColumnSet kThrottlingColumns =
    Bit(kPeriodsPerSec) | Bit(kThrottledPeriods) | Bit(kThrottledPeriodsBase) |
    Bit(kThrottledTime);
constexpr ColumnSet kUsedColumns = Bit(kMemoryUsed) | Bit(kMemoryUsedBase);

// One cgroup with the means of reading it.
class Reader {
 public:
  Reader(ColumnSet needed, Cgroups& cgroups, Cgroup& cgroup,
         const perflib::Clocks& clocks, std::string* buffer,
         CountersetSample* sample)
      : needed_(needed),
        cgroups_(cgroups),
        cgroup_(cgroup),
        clocks_(clocks),
        buffer_(buffer),
        sample_(sample) {}

  void AddCpu(KeyedText* cpu_stat) {
    if ((needed_ & kTimeColumns) != 0) {
      const CgroupTimes times =
          ReadVersion1Times(cgroups_, cgroup_, clocks_, buffer_);
      SetIfKnown(kProcessorTime, times.usage);
      SetIfKnown(kUserTime, times.user);
      SetIfKnown(kPrivilegedTime, times.system);
    }
    if ((needed_ & kThrottlingColumns) != 0) AddThrottling(cpu_stat);
    if (!Has(needed_, kProcessorLimit)) return;
    // The quota is -1 without a limit.
    const auto quota = Number(CgroupFile::kV1CpuQuota);
    const auto period = Number(CgroupFile::kV1CpuPeriod);
    if (quota.has_value() && period.value_or(0) != 0) {
      sample_->Set(kProcessorLimit, *quota * 100 / *period);
    }
  }

  void AddMemory(KeyedText* memory_stat, KeyedText* oom_control) {
    if (Needs(Bit(kMemoryBytes) | Bit(kWorkingSet) | kUsedColumns)) {
      SetIfKnown(kMemoryBytes, Number(CgroupFile::kV1MemoryUsage));
    }
    if (Needs(Bit(kMemoryPeakBytes))) {
      SetIfKnown(kMemoryPeakBytes, Number(CgroupFile::kV1MemoryMaxUsage));
    }
    if (Needs(Bit(kMemoryLimitBytes) | kUsedColumns)) {
      const auto limit = Number(CgroupFile::kV1MemoryLimit);
      if (limit.value_or(kNoMemoryLimit) < kNoMemoryLimit) {
        sample_->Set(kMemoryLimitBytes, *limit);
      }
    }
    if (Needs(Bit(kKernelBytes))) {
      SetIfKnown(kKernelBytes, Number(CgroupFile::kV1KernelMemory));
    }
    if (Needs(Bit(kMemoryLimitEvents))) {
      SetIfKnown(kMemoryLimitEvents, Number(CgroupFile::kV1MemoryFailures));
    }
    if (Needs(Bit(kOutOfMemoryKills))) {
      SetKeys(CgroupFile::kV1MemoryOomControl, oom_control);
    }
    if (Needs(memory_stat->columns() | Bit(kWorkingSet))) {
      SetKeys(CgroupFile::kV1MemoryStat, memory_stat);
    }
  }

  // Kernels before 4.20 count only the cgroup's own I/O, which is all of it
  // without cgroups below.
  void AddIo(LayeredDevices& layered) {
    if (Needs(Bit(kReadBytes) | Bit(kWriteBytes))) {
      AddIoFile(CgroupFile::kV1IoBytes, CgroupFile::kV1OwnIoBytes, kReadBytes,
                kWriteBytes, layered, &cgroup_.io);
    }
    if (Needs(Bit(kReadOperations) | Bit(kWriteOperations))) {
      AddIoFile(CgroupFile::kV1IoOperations, CgroupFile::kV1OwnIoOperations,
                kReadOperations, kWriteOperations, layered,
                &cgroup_.io_operations);
    }
  }

  void AddTasks() {
    if (Needs(Bit(kTasks))) {
      SetIfKnown(kTasks, Number(CgroupFile::kV1PidsCurrent));
    }
    if (Needs(Bit(kTaskLimit))) {
      SetIfKnown(kTaskLimit, Number(CgroupFile::kV1PidsMax));
    }
  }

 private:
  bool Needs(ColumnSet columns) const { return (needed_ & columns) != 0; }

  std::optional<absl::string_view> Read(CgroupFile file) {
    return cgroups_.Read(cgroup_, file, clocks_, buffer_);
  }

  std::optional<uint64_t> Number(CgroupFile file) {
    auto text = Read(file);
    return text.has_value() ? NextNumber(&*text) : std::nullopt;
  }

  void SetIfKnown(size_t column, std::optional<uint64_t> value) {
    if (value.has_value()) sample_->Set(column, *value);
  }

  void SetKeys(CgroupFile file, KeyedText* keys) {
    if (const auto text = Read(file)) keys->SetColumns(*text, sample_);
  }

  void AddThrottling(KeyedText* cpu_stat) {
    SetKeys(CgroupFile::kV1CpuStat, cpu_stat);
    const size_t row = sample_->rows() - 1;
    if (!sample_->HasValue(row, kThrottledTime)) return;
    sample_->Set(kThrottledTime,
                 sample_->Value(row, kThrottledTime) / kNanosecondsPer100Nsec);
  }

  // Adds up lines such as "8:0 Read 4096" of disks. The last line, "Total 0",
  // is there before the first I/O, too.
  void AddIoFile(CgroupFile recursive, CgroupFile own, size_t read_column,
                 size_t write_column, LayeredDevices& layered,
                 DeviceSums* sums) {
    auto text = Read(recursive);
    if (!text.has_value() && !cgroup_.has_children) text = Read(own);
    if (!text.has_value()) return;
    sums->Begin();
    bool is_present = false;
    absl::string_view line;
    while (NextLine(&*text, &line)) {
      const absl::string_view first = NextWord(&line);
      if (first == "Total") is_present |= NextNumber(&line).has_value();
      const auto device = ParseDeviceNumber(first);
      if (!device.has_value()) continue;
      const absl::string_view kind = NextWord(&line);
      const std::optional<uint64_t> count = NextNumber(&line);
      is_present |= count.has_value();
      if (!count.has_value() || layered.Contains(*device)) continue;
      if (kind == "Read") sums->CountsOf(*device)[0] = count;
      if (kind == "Write") sums->CountsOf(*device)[1] = count;
    }
    const DeviceSums::Sums counts = sums->Finish();
    if (!is_present) return;
    sample_->Set(read_column, counts[0]);
    sample_->Set(write_column, counts[1]);
  }

  const ColumnSet needed_;
  Cgroups& cgroups_;
  Cgroup& cgroup_;
  const perflib::Clocks& clocks_;
  std::string* const buffer_;
  CountersetSample* const sample_;
};

}  // namespace

CgroupTimes ReadVersion1Times(Cgroups& cgroups, Cgroup& cgroup,
                              const perflib::Clocks& clocks,
                              std::string* buffer) {
  CgroupTimes times;
  if (auto text =
          cgroups.Read(cgroup, CgroupFile::kV1CpuacctUsage, clocks, buffer)) {
    if (const auto nanoseconds = NextNumber(&*text)) {
      times.usage = *nanoseconds / kNanosecondsPer100Nsec;
    }
  }
  if (auto text =
          cgroups.Read(cgroup, CgroupFile::kV1CpuacctStat, clocks, buffer)) {
    absl::string_view line;
    while (NextLine(&*text, &line)) {
      const absl::string_view key = NextWord(&line);
      const auto time = Times(NextNumber(&line), k100NSecPerJiffy);
      if (key == "user") times.user = time;
      if (key == "system") times.system = time;
    }
  }
  return times;
}

CgroupVersion1::CgroupVersion1()
    : cpu_stat_(kCpuStat),
      memory_stat_(kMemoryStat),
      oom_control_(kOomControl) {}

void CgroupVersion1::AddColumns(ColumnSet needed, Cgroups& cgroups,
                                Cgroup& cgroup, LayeredDevices& layered_devices,
                                const perflib::Clocks& clocks,
                                std::string* buffer, CountersetSample* sample) {
  Reader reader(needed, cgroups, cgroup, clocks, buffer, sample);
  reader.AddCpu(&cpu_stat_);
  reader.AddMemory(&memory_stat_, &oom_control_);
  reader.AddIo(layered_devices);
  reader.AddTasks();
}

}  // namespace fleetperf::agent
