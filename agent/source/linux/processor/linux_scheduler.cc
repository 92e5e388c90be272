#include "agent/source/linux/processor/linux_scheduler.h"

#include <array>
#include <iterator>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "agent/source/cpu_instances.h"
#include "agent/source/linux/processor/interrupt_table.h"
#include "agent/source/linux/text.h"
#include "base/status_macros.h"
#include "perflib/counter_type.h"
#include "perflib/layout.h"
#include "perflib/path.h"
#include "perflib/utf16.h"

namespace fleetperf::agent {
namespace {

using namespace perflib;  // the counter types

enum Column : size_t {
  kRunTime,
  kRunDelay,
  kTimeslicesPerSec,
  kSecondsPerTimeslice,
  kDelayPerTimeslice,
  kTimeslicesBase,
  kYieldsPerSec,
  kSchedulesPerSec,
  kIdleSchedulesPerSec,
  kWakeupsPerSec,
  kLocalWakeupsPerSec,
  kNumColumns
};

constexpr uint32_t kTimeslicesBaseId = kFirstLinuxCounterId + 100;

constexpr LinuxCounter kCounters[] = {
    {{kFirstLinuxCounterId + 0, kPerf100NsecTimer, "% Run Time",
      "Time in which threads ran."},
     "%",
     "/proc/schedstat cpuN, field 7",
     "Includes interrupts, and time that the hypervisor stole."},
    {{kFirstLinuxCounterId + 1, kPerf100NsecTimer, "% Run Delay",
      "Time in which threads were ready to run but waited."},
     "%",
     "/proc/schedstat cpuN, field 8",
     "The sum for all waiting threads: 300 is three waiting threads on "
     "average."},
    {{kFirstLinuxCounterId + 2, kPerfCounterBulkCount, "Timeslices/sec",
      "How often a thread got to run."},
     "timeslices/s",
     "/proc/schedstat cpuN, field 9"},
    {{kFirstLinuxCounterId + 3, kPerfAverageTimer, "Avg. sec/Timeslice",
      "How long a thread ran at a time.", kTimeslicesBaseId},
     "s",
     "/proc/schedstat cpuN, fields 7, 9"},
    {{kFirstLinuxCounterId + 4, kPerfAverageTimer, "Avg. Delay sec/Timeslice",
      "How long a thread waited before it ran.", kTimeslicesBaseId},
     "s",
     "/proc/schedstat cpuN, fields 8, 9"},
    {{kTimeslicesBaseId, kPerfAverageBase, "", ""}, "", ""},
    {{kFirstLinuxCounterId + 5, kPerfCounterBulkCount, "Yields/sec",
      "Calls of sched_yield."},
     "calls/s",
     "/proc/schedstat cpuN, field 1",
     "Absent unless kernel.sched_schedstats is 1."},
    {{kFirstLinuxCounterId + 6, kPerfCounterBulkCount, "Schedules/sec",
      "How often the scheduler chose a thread."},
     "schedules/s",
     "/proc/schedstat cpuN, field 3",
     "Absent unless kernel.sched_schedstats is 1."},
    {{kFirstLinuxCounterId + 7, kPerfCounterBulkCount, "Idle Schedules/sec",
      "How often it found none."},
     "schedules/s",
     "/proc/schedstat cpuN, field 4",
     "Absent unless kernel.sched_schedstats is 1."},
    {{kFirstLinuxCounterId + 8, kPerfCounterBulkCount, "Wakeups/sec",
      "How often a thread was woken on the CPU."},
     "wakeups/s",
     "/proc/schedstat cpuN, field 5",
     "Absent unless kernel.sched_schedstats is 1."},
    {{kFirstLinuxCounterId + 9, kPerfCounterBulkCount, "Local Wakeups/sec",
      "How often a thread was woken by the CPU that it ran on."},
     "wakeups/s",
     "/proc/schedstat cpuN, field 6",
     "Absent unless kernel.sched_schedstats is 1."},
};
static_assert(std::size(kCounters) == kNumColumns);

// The fields of a line after the name, in its order.
enum Field {
  kYields,
  kUnused,
  kSchedules,
  kIdleSchedules,
  kWakeups,
  kLocalWakeups,
  kNanosecondsRun,
  kNanosecondsDelayed,
  kTimeslices,
  kNumFields
};

constexpr uint64_t kNanosecondsPer100NSec = 100;

using Fields = std::array<uint64_t, kNumFields>;

// std::nullopt if there are too few numbers, or if the CPU is not counted.
std::optional<Fields> ParseFields(absl::string_view text) {
  Fields fields;
  for (uint64_t& field : fields) {
    const auto number = NextNumber(&text);
    if (!number.has_value()) return std::nullopt;
    field = *number;
  }
  // Every online CPU has run threads.
  if (fields[kTimeslices] == 0) return std::nullopt;
  return fields;
}

void AddValues(const Fields& fields, CountersetSample* sample) {
  // kLinuxPerfFreq makes the ticks of timers 100 ns long, too.
  const uint64_t run = fields[kNanosecondsRun] / kNanosecondsPer100NSec;
  const uint64_t delay = fields[kNanosecondsDelayed] / kNanosecondsPer100NSec;
  sample->Set(kRunTime, run);
  sample->Set(kRunDelay, delay);
  sample->Set(kTimeslicesPerSec, fields[kTimeslices]);
  sample->Set(kSecondsPerTimeslice, run);
  sample->Set(kDelayPerTimeslice, delay);
  sample->Set(kTimeslicesBase, fields[kTimeslices]);
  if (fields[kSchedules] == 0) return;  // kernel.sched_schedstats is 0
  sample->Set(kYieldsPerSec, fields[kYields]);
  sample->Set(kSchedulesPerSec, fields[kSchedules]);
  sample->Set(kIdleSchedulesPerSec, fields[kIdleSchedules]);
  sample->Set(kWakeupsPerSec, fields[kWakeups]);
  sample->Set(kLocalWakeupsPerSec, fields[kLocalWakeups]);
}

std::vector<TotalKind> TotalKinds() {
  std::vector<TotalKind> kinds(kNumColumns, TotalKind::kGrowth);
  kinds[kRunTime] = kinds[kRunDelay] = TotalKind::kMeanGrowth;
  return kinds;
}

}  // namespace

constinit const LinuxCounterset LinuxScheduler::kCounterset = {
    .guid = "{f0488a83-54a9-5a92-98f3-9a7ee90164ed}",
    .name = "Linux Scheduler",
    .help = "How long threads run, and wait to run, on each CPU.",
    .instance_type = kCountersetMultipleInstances | kCountersetAggregate,
    .instances =
        "the CPUs' numbers, `_Total`; none if the kernel lacks "
        "CONFIG_SCHEDSTATS",
    .counters = kCounters,
};

LinuxScheduler::LinuxScheduler(const std::string& root)
    : Provider(MakeRegistration(kCounterset)),
      schedstat_(root + "/proc/schedstat"),
      totals_(TotalKinds(), NewInstance::kWasCounting),
      utf16_total_name_(Utf16FromUtf8(kAggregateInstance)) {}

absl::Status LinuxScheduler::Sample(ColumnSet, const Clocks&,
                                    CountersetSample* sample) {
  absl::StatusOr<absl::string_view> text = schedstat_.Read(&buffer_);
  if (absl::IsNotFound(text.status())) return absl::OkStatus();
  RETURN_IF_ERROR(text.status());
  totals_.Begin();
  absl::string_view line;
  while (NextLine(&*text, &line)) {
    const auto number = CpuNumber(NextWord(&line));
    if (!number.has_value()) continue;  // "version", "domain0" and such
    const auto fields = ParseFields(line);
    if (!fields.has_value()) continue;
    std::string& name = utf16_names_[*number];
    if (name.empty()) name = Utf16FromUtf8(absl::StrCat(*number));
    sample->AddInstance(name, *number);
    AddValues(*fields, sample);
    const size_t row = sample->rows() - 1;
    totals_.Add(*number, sample->Row(row), sample->Present(row));
  }
  if (sample->rows() == 0) return absl::OkStatus();
  sample->AddInstance(utf16_total_name_, kTotalInstanceId);
  totals_.Finish(sample);
  return absl::OkStatus();
}

}  // namespace fleetperf::agent
