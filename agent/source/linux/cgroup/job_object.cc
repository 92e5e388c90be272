#include "agent/source/linux/cgroup/job_object.h"

#include <iterator>
#include <utility>

#include "agent/source/linux/cgroup/cgroup_version1.h"
#include "agent/source/linux/text.h"
#include "agent/source/linux/units.h"
#include "perflib/counter_type.h"
#include "perflib/layout.h"
#include "perflib/utf16.h"

namespace fleetperf::agent {
namespace {

using namespace perflib;  // the counter types

enum Column : size_t {
  kCurrentProcessorTime,
  kCurrentUserTime,
  kCurrentKernelTime,
  kPagesPerSec,
  kActiveProcesses,
  kTotalProcessor,
  kTotalUser,
  kTotalKernel,
  kNumColumns
};

constexpr LinuxCounter kCounters[] = {
    {{0, kPerf100NsecTimer, "Current % Processor Time",
      "Processor time of the job's processes."},
     "%",
     "cpu.stat usage_usec",
     "of one processor: exceeds 100 with several"},
    {{1, kPerf100NsecTimer, "Current % User Mode Time",
      "Its part in user mode."},
     "%",
     "cpu.stat user_usec"},
    {{2, kPerf100NsecTimer, "Current % Kernel Mode Time",
      "Its part in the kernel."},
     "%",
     "cpu.stat system_usec"},
    {{6, kPerfCounterCounter, "Pages/Sec",
      "Page faults of the job's processes."},
     "faults/s",
     "memory.stat pgfault"},
    {{8, kPerfCounterRawcount, "Process Count - Active", "Tasks of the job."},
     "tasks",
     "pids.current",
     "counts threads; Windows counts processes"},
    {{10, kPerfCounterLargeRawcount, "Total mSec - Processor",
      "Processor time since the job was created, in milliseconds."},
     "ms",
     "cpu.stat usage_usec"},
    {{11, kPerfCounterLargeRawcount, "Total mSec - User Mode",
      "Its part in user mode."},
     "ms",
     "cpu.stat user_usec"},
    {{12, kPerfCounterLargeRawcount, "Total mSec - Kernel Mode",
      "Its part in the kernel."},
     "ms",
     "cpu.stat system_usec"},
};
static_assert(std::size(kCounters) == kNumColumns);

constexpr KeyedTerm kCpuStat[] = {
    {"usage_usec", kCurrentProcessorTime, k100NSecPerMicrosecond},
    {"user_usec", kCurrentUserTime, k100NSecPerMicrosecond},
    {"system_usec", kCurrentKernelTime, k100NSecPerMicrosecond},
};
constexpr KeyedTerm kMemoryStat[] = {{"pgfault", kPagesPerSec}};
// The values of the hierarchy below.
constexpr KeyedTerm kVersion1MemoryStat[] = {{"total_pgfault", kPagesPerSec}};

// A total in milliseconds and the time that it is made of.
constexpr std::pair<Column, Column> kTotals[] = {
    {kTotalProcessor, kCurrentProcessorTime},
    {kTotalUser, kCurrentUserTime},
    {kTotalKernel, kCurrentKernelTime},
};

constexpr ColumnSet kCpuColumns =
    ((Bit(kNumColumns) - 1) & ~Bit(kPagesPerSec)) & ~Bit(kActiveProcesses);

}  // namespace

constinit const LinuxCounterset JobObject::kCounterset = {
    .guid = "{8dc0ae61-885a-5931-9835-3ec7c6be324f}",
    .name = "Job Object",
    .help = "Processor time and processes of jobs, which are cgroups here.",
    .instance_type = kCountersetMultipleInstances | kCountersetAggregate,
    .instances =
        "those of Linux Cgroup, with the same sources; the root is `_Total`. "
        "Values contain those of the cgroups below",
    .counters = kCounters};

JobObject::JobObject(std::shared_ptr<Cgroups> cgroups)
    : Provider(MakeRegistration(kCounterset)),
      cgroups_(std::move(cgroups)),
      cpu_stat_(kCpuStat),
      memory_stat_(kMemoryStat),
      version1_memory_stat_(kVersion1MemoryStat),
      utf16_total_name_(Utf16FromUtf8(kAggregateInstance)) {
  ShareSelection(cgroups_->selection());
}

absl::Status JobObject::Sample(ColumnSet needed, const Clocks& clocks,
                               CountersetSample* sample) {
  cgroups_->Update(clocks, sample);
  for (Cgroup& cgroup : cgroups_->all()) {
    sample->AddInstance(
        cgroup.path == "/" ? utf16_total_name_ : cgroup.utf16_name,
        static_cast<uint32_t>(cgroup.id));
    const auto read = [&](ColumnSet columns, CgroupFile file) {
      return (needed & columns) != 0
                 ? cgroups_->Read(cgroup, file, clocks, &buffer_)
                 : std::nullopt;
    };
    if ((needed & kCpuColumns) != 0) AddTimes(cgroup, clocks, sample);
    if (const auto text = read(Bit(kPagesPerSec), CgroupFile::kMemoryStat)) {
      memory_stat_.SetColumns(*text, sample);
    }
    if (const auto text = read(Bit(kPagesPerSec), CgroupFile::kV1MemoryStat)) {
      version1_memory_stat_.SetColumns(*text, sample);
    }
    for (const CgroupFile file :
         {CgroupFile::kV1PidsCurrent, CgroupFile::kPidsCurrent}) {
      if (auto text = read(Bit(kActiveProcesses), file)) {
        if (const auto tasks = NextNumber(&*text)) {
          sample->Set(kActiveProcesses, *tasks);
        }
      }
    }
  }
  return absl::OkStatus();
}

void JobObject::AddTimes(Cgroup& cgroup, const Clocks& clocks,
                         CountersetSample* sample) {
  const size_t row = sample->rows() - 1;
  if (cgroups_->has_version1()) {
    const CgroupTimes times =
        ReadVersion1Times(*cgroups_, cgroup, clocks, &buffer_);
    if (times.usage) sample->Set(kCurrentProcessorTime, *times.usage);
    if (times.user) sample->Set(kCurrentUserTime, *times.user);
    if (times.system) sample->Set(kCurrentKernelTime, *times.system);
  }
  if (!sample->HasValue(row, kCurrentProcessorTime)) {
    if (const auto text =
            cgroups_->Read(cgroup, CgroupFile::kCpuStat, clocks, &buffer_)) {
      cpu_stat_.SetColumns(*text, sample);
    }
  }
  for (const auto& [total, time] : kTotals) {
    if (!sample->HasValue(row, time)) continue;
    sample->Set(total, sample->Value(row, time) / k100NSecPerMillisecond);
  }
}

}  // namespace fleetperf::agent
