#include "agent/source/linux/network/linux_softnet.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "absl/strings/str_cat.h"
#include "agent/source/cpu_instances.h"
#include "agent/source/linux/sysfs.h"
#include "agent/source/linux/text.h"
#include "perflib/counter_type.h"
#include "perflib/layout.h"
#include "perflib/utf16.h"

namespace fleetperf::agent {
namespace {

using namespace perflib;  // the counter types

enum Column : size_t {
  kProcessed,
  kDropped,
  kTimeSqueezes,
  kReceivedRps,
  kFlowLimits,
  kBacklog,
  kNumColumns
};

constexpr LinuxCounter kCounters[] = {
    {{0, kPerfCounterCounter, "Packets/sec",
      "Packets that the CPU took from adapters or from another CPU."},
     "packets/s",
     "/proc/net/softnet_stat field 1"},
    {{1, kPerfCounterLargeDelta, "Packets Dropped",
      "Packets dropped because the backlog of the CPU was full."},
     "packets",
     "/proc/net/softnet_stat field 2",
     "The limit is net.core.netdev_max_backlog."},
    {{2, kPerfCounterCounter, "Time Squeezes/sec",
      "Times at which the CPU stopped with packets left, because its budget or "
      "time was used up."},
     "times/s",
     "/proc/net/softnet_stat field 3",
     "The limits are net.core.netdev_budget and netdev_budget_usecs."},
    {{3, kPerfCounterCounter, "RPS Wakeups/sec",
      "Wakeups by another CPU that passed packets on (receive packet "
      "steering)."},
     "wakeups/s",
     "/proc/net/softnet_stat field 10"},
    {{4, kPerfCounterLargeDelta, "Flow Limit Drops",
      "Packets of large flows dropped because the backlog was half full."},
     "packets",
     "/proc/net/softnet_stat field 11",
     "Needs net.core.flow_limit_cpu_bitmap."},
    {{5, kPerfCounterRawcount, "Backlog Length",
      "Packets in the backlog of the CPU."},
     "packets",
     "/proc/net/softnet_stat field 12",
     "Since Linux 5.10."},
};
static_assert(std::size(kCounters) == kNumColumns);

// Fields of a line, from 0. The columns up to kBacklog wrap at 32 bits.
constexpr size_t kFieldOfColumn[] = {0, 1, 2, 9, 10, 11};
constexpr size_t kCpuField = 12;

std::vector<TotalKind> TotalKinds() {
  std::vector<TotalKind> kinds(kNumColumns, TotalKind::kGrowth);
  kinds[kBacklog] = TotalKind::kSum;
  return kinds;
}

}  // namespace

constinit const LinuxCounterset LinuxSoftnet::kCounterset = {
    .guid = "{1dfc1f9f-0243-5158-80a4-54c9c1e3fddd}",
    .name = "Linux Softnet",
    .help = "Packets that each CPU took from network adapters.",
    .instance_type = kCountersetMultipleInstances | kCountersetAggregate,
    .instances = "CPUs, `_Total`",
    .counters = kCounters};

LinuxSoftnet::LinuxSoftnet(const std::string& root)
    : Provider(MakeRegistration(kCounterset)),
      softnet_stat_(root + "/proc/net/softnet_stat"),
      online_path_(root + "/sys/devices/system/cpu/online"),
      totals_(TotalKinds(), NewInstance::kWasCounting),
      utf16_total_name_(Utf16FromUtf8(kAggregateInstance)) {
  static_assert(std::size(kFieldOfColumn) == kNumColumns);
  static_assert(kNumWrapping == kBacklog && kNumFields == kCpuField + 1);
}

absl::Status LinuxSoftnet::Sample(ColumnSet, const Clocks&,
                                  CountersetSample* sample) {
  auto text = softnet_stat_.Read(&buffer_);
  if (!text.ok()) return OkIfNotFound(text.status());
  totals_.Begin();
  absl::string_view line;
  for (size_t position = 0; NextLine(&*text, &line); ++position) {
    Fields fields = {};
    size_t num_fields = 0;
    while (num_fields < kNumFields) {
      const auto number = NextHexNumber(&line);
      if (!number.has_value()) break;
      fields[num_fields++] = *number;
    }
    // The CPU's number has no value, or another number before it has none.
    SkipSpaces(&line);
    if (num_fields < kNumFields && !line.empty()) continue;
    const uint32_t cpu = NumberOf(position, fields, num_fields);
    if (cpu < kMaxCpus) AddCpu(cpu, fields, num_fields, sample);
  }
  sample->AddInstance(utf16_total_name_, kTotalInstanceId);
  totals_.Finish(sample);
  return absl::OkStatus();
}

// Kernels before 5.10 do not print the number. Their lines are those of the
// online CPUs.
uint32_t LinuxSoftnet::NumberOf(size_t position, const Fields& fields,
                                size_t num_fields) {
  if (num_fields > kCpuField) {
    return static_cast<uint32_t>(
        std::min<uint64_t>(fields[kCpuField], kMaxCpus));
  }
  if (position == 0) ReadOnline();
  return position < online_.size() ? online_[position]
                                   : static_cast<uint32_t>(position);
}

void LinuxSoftnet::ReadOnline() {
  online_.clear();
  ReadListFile(online_path_, kMaxCpus,
               [this](uint32_t cpu) { online_.push_back(cpu); });
}

void LinuxSoftnet::AddCpu(uint32_t number, const Fields& fields,
                          size_t num_fields, CountersetSample* sample) {
  const auto [entry, is_new] = cpus_.try_emplace(number);
  Cpu& cpu = entry->second;
  if (is_new) cpu.utf16_name = Utf16FromUtf8(absl::StrCat(number));
  sample->AddInstance(cpu.utf16_name, number);
  for (size_t column = 0; column < kNumColumns; ++column) {
    const size_t field = kFieldOfColumn[column];
    if (field >= num_fields) break;
    sample->Set(column, column < kNumWrapping
                            ? cpu.counters[column].Update(fields[field])
                            : fields[field]);
  }
  const size_t row = sample->rows() - 1;
  totals_.Add(number, sample->Row(row), sample->Present(row));
}

}  // namespace fleetperf::agent
