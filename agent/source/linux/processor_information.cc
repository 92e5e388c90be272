#include "agent/source/linux/processor_information.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "agent/source/linux/counters.h"
#include "agent/source/linux/text.h"
#include "agent/source/linux/units.h"
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
  kInterruptsPerSec,
  kDpcTime,
  kInterruptTime,
  kDpcsQueuedPerSec,
  kIdleTime,
  kC1Time,
  kC2Time,
  kC3Time,
  kC1Transitions,
  kC2Transitions,
  kC3Transitions,
  kFrequency,
  kPercentOfMaximum,
  kClockInterruptsPerSec,
  kStealTime,
  kGuestTime,
  kIoWaitTime,
  kNumColumns
};

// Ids below 1000 are the Windows ids.
constexpr CounterSpec kCounters[] = {
    {0, kPerf100NsecTimerInv, "% Processor Time",
     "Time the processor was not idle. Stolen time counts as busy."},
    {1, kPerf100NsecTimer, "% User Time",
     "Time in user mode, guests included."},
    {2, kPerf100NsecTimer, "% Privileged Time",
     "Time in the kernel, interrupts and softirqs included."},
    {3, kPerfCounterCounter, "Interrupts/sec",
     "Interrupts that the processor served."},
    {4, kPerf100NsecTimer, "% DPC Time",
     "Time in softirqs, Linux's deferred procedure calls."},
    {5, kPerf100NsecTimer, "% Interrupt Time", "Time in interrupt handlers."},
    {6, kPerfCounterCounter, "DPCs Queued/sec",
     "Softirqs that the processor ran."},
    {8, kPerf100NsecTimer, "% Idle Time",
     "Time with nothing to run, waiting for I/O included."},
    {9, kPerf100NsecTimer, "% C1 Time",
     "Time in idle states that take less than 10 us to leave."},
    {10, kPerf100NsecTimer, "% C2 Time",
     "Time in idle states that take 10 us to 99 us to leave."},
    {11, kPerf100NsecTimer, "% C3 Time",
     "Time in idle states that take 100 us or more to leave."},
    {12, kPerfCounterBulkCount, "C1 Transitions/sec",
     "How often a state of % C1 Time was entered."},
    {13, kPerfCounterBulkCount, "C2 Transitions/sec",
     "How often a state of % C2 Time was entered."},
    {14, kPerfCounterBulkCount, "C3 Transitions/sec",
     "How often a state of % C3 Time was entered."},
    {17, kPerfCounterRawcount, "Processor Frequency",
     "The processor's frequency in MHz."},
    {18, kPerfCounterRawcount, "% of Maximum Frequency",
     "The processor's frequency as a percentage of its highest."},
    {20, kPerfCounterCounter, "Clock Interrupts/sec",
     "Interrupts of the processor's own timer."},
    {kFirstLinuxCounterId + 0, kPerf100NsecTimer, "% Steal Time",
     "Time in which the hypervisor ran something else."},
    {kFirstLinuxCounterId + 1, kPerf100NsecTimer, "% Guest Time",
     "Time spent running virtual machines; part of % User Time."},
    {kFirstLinuxCounterId + 2, kPerf100NsecTimer, "% IO Wait Time",
     "Idle time with I/O outstanding; part of % Idle Time."},
};
static_assert(std::size(kCounters) == kNumColumns);

constexpr ColumnSet kFrequencyColumns =
    Bit(kFrequency) | Bit(kPercentOfMaximum);
constexpr ColumnSet kInterruptColumns =
    Bit(kInterruptsPerSec) | Bit(kClockInterruptsPerSec);
constexpr ColumnSet kIdleStateColumns =
    Bit(kC1Time) | Bit(kC2Time) | Bit(kC3Time) | Bit(kC1Transitions) |
    Bit(kC2Transitions) | Bit(kC3Transitions);

// Instance ids. A CPU's id is its number; the ids of totals follow the highest
// CPU number of any kernel.
constexpr uint32_t kNodeTotalInstanceId = 0x10000;  // plus the node's number
constexpr uint32_t kTotalInstanceId = 0x20000;

// Times and frequencies of several CPUs are averaged, events are added.
std::vector<TotalKind> TotalKinds() {
  std::vector<TotalKind> kinds(kNumColumns, TotalKind::kMeanGrowth);
  for (const Column events :
       {kInterruptsPerSec, kDpcsQueuedPerSec, kC1Transitions, kC2Transitions,
        kC3Transitions, kClockInterruptsPerSec}) {
    kinds[events] = TotalKind::kGrowth;
  }
  kinds[kFrequency] = kinds[kPercentOfMaximum] = TotalKind::kMean;
  return kinds;
}

// Returns the time column for idle states of this exit latency.
size_t TimeColumnOf(uint64_t latency_us) {
  return latency_us < 10 ? kC1Time : latency_us < 100 ? kC2Time : kC3Time;
}

// Idle and I/O wait times are estimates and may step back slightly between two
// reads. A step of this size means that the CPU was offline and started over.
constexpr uint64_t kResetJiffies = 3 * kUserHz;

uint64_t WithoutSmallFalls(uint64_t last, uint64_t value) {
  return value < last && last - value < kResetJiffies ? last : value;
}

// Returns the number after "cpu" or "CPU" at the front. std::nullopt for the
// line of all CPUs and for other words.
std::optional<uint32_t> CpuNumber(absl::string_view word) {
  uint32_t number;
  if (!absl::ConsumePrefix(&word, "cpu") &&
      !absl::ConsumePrefix(&word, "CPU")) {
    return std::nullopt;
  }
  if (!absl::SimpleAtoi(word, &number)) return std::nullopt;
  return number;
}

// Reads a file that contains one number.
std::optional<uint64_t> ReadNumber(const std::string& path) {
  std::string buffer;
  auto text = ProcFile(path, ProcFile::Kind::kSmall).Read(&buffer);
  if (!text.ok()) return std::nullopt;
  return NextNumber(&*text);
}

// Returns whether the CPU spins in this state, which makes it busy, not idle.
bool IsPolling(const std::string& state_directory) {
  std::string buffer;
  const auto name =
      ProcFile(state_directory + "/name", ProcFile::Kind::kSmall).Read(&buffer);
  return name.ok() && absl::StripTrailingAsciiWhitespace(*name) == "POLL";
}

// The largest values that Linux can be built for. No list exceeds them.
constexpr uint64_t kMaxCpus = 65536;
constexpr uint64_t kMaxNodes = 1024;

// Reads a file with an ascending list such as "0-3,8,10-11" and calls `use`
// once for each number below `limit`.
template <typename Use>
void ForEachInList(const std::string& path, uint64_t limit, Use use) {
  std::string buffer;
  auto text = ProcFile(path).Read(&buffer);
  if (!text.ok()) return;
  uint64_t next = 0;
  while (const auto first = NextNumber(&*text)) {
    uint64_t last = *first;
    if (absl::ConsumePrefix(&*text, "-")) last = NumberOrZero(&*text);
    for (next = std::max(next, *first); next <= last && next < limit; ++next) {
      use(static_cast<uint32_t>(next));
    }
    absl::ConsumePrefix(&*text, ",");
  }
}

// Returns whether a row of /proc/interrupts counts for the whole machine. With
// one CPU, such rows look like those of a CPU.
bool IsMachineWideRow(absl::string_view label) {
  return label == "ERR" || label == "MIS";
}

// Reads a table whose header names CPUs and whose rows are "label: n n n ...",
// with one number per CPU. Calls `add` with each row's label, CPU and number.
// Skips rows that count for the whole machine.
template <typename Add>
void ForEachCpuNumber(absl::string_view text, Add add) {
  absl::string_view line;
  if (!NextLine(&text, &line)) return;
  std::vector<uint32_t> cpus;
  for (absl::string_view word = NextWord(&line); !word.empty();
       word = NextWord(&line)) {
    if (const auto number = CpuNumber(word)) cpus.push_back(*number);
  }
  std::vector<uint64_t> numbers(cpus.size());
  while (NextLine(&text, &line)) {
    const absl::string_view label = absl::StripSuffix(NextWord(&line), ":");
    size_t count = 0;
    while (count < cpus.size()) {
      const auto number = NextNumber(&line);
      if (!number.has_value()) break;
      numbers[count++] = *number;
    }
    if (count < cpus.size() || IsMachineWideRow(label)) continue;
    for (size_t i = 0; i < count; ++i) add(label, cpus[i], numbers[i]);
  }
}

}  // namespace

ProcessorInformation::Node::Node(uint32_t number)
    : utf16_total_name(Utf16FromUtf8(absl::StrCat(number, ",_Total"))),
      totals(TotalKinds(), NewInstance::kWasCounting) {}

void ProcessorInformation::EventCount::Begin() {
  has_rows_ = false;
  sum_ = 0;
}

void ProcessorInformation::EventCount::Add(uint64_t row) {
  has_rows_ = true;
  sum_ += row;
}

// Sums of numbers modulo 2^32 have correct differences modulo 2^32. If the sum
// fell, a row disappeared, and counting continues from the new sum.
void ProcessorInformation::EventCount::End() {
  if (!has_rows_) return;  // the CPU is offline
  const auto growth = static_cast<uint32_t>(sum_ - last_sum_);
  if (!std::exchange(was_read_, true)) {
    total_ = sum_;
  } else if (growth < kMinBackwardStep) {
    total_ += growth;
  }
  last_sum_ = sum_;
}

ProcessorInformation::ProcessorInformation(const std::string& root)
    : Provider(MakeRegistration(
          "{b4fc721a-0378-476f-89ba-a5a79f810b36}", "Processor Information",
          "How the processors spend their time.",
          kCountersetMultipleInstances | kCountersetAggregate, kCounters)),
      root_(root),
      stat_(root + "/proc/stat"),
      interrupts_(root + "/proc/interrupts"),
      softirqs_(root + "/proc/softirqs"),
      totals_(TotalKinds(), NewInstance::kWasCounting),
      utf16_total_name_(Utf16FromUtf8(kAggregateInstance)) {}

absl::Status ProcessorInformation::Sample(ColumnSet needed, const Clocks&,
                                          CountersetSample* sample) {
  RETURN_IF_ERROR(ReadStat());
  if ((needed & kInterruptColumns) != 0) RETURN_IF_ERROR(ReadInterrupts());
  if (Has(needed, kDpcsQueuedPerSec)) RETURN_IF_ERROR(ReadSoftirqs());

  totals_.Begin();
  for (auto& [number, node] : nodes_) {
    node.totals.Begin();
    bool has_cpu = false;
    for (auto& [cpu_number, cpu] : cpus_) {
      if (cpu.node != number || !cpu.online) continue;
      has_cpu = true;
      AddCpu(cpu, needed, sample);
      const size_t row = sample->rows() - 1;
      node.totals.Add(cpu_number, sample->Row(row), sample->Present(row));
      totals_.Add(cpu_number, sample->Row(row), sample->Present(row));
    }
    if (!has_cpu) continue;
    sample->AddInstance(node.utf16_total_name, kNodeTotalInstanceId + number);
    node.totals.Finish(sample);
  }
  sample->AddInstance(utf16_total_name_, kTotalInstanceId);
  totals_.Finish(sample);
  return absl::OkStatus();
}

void ProcessorInformation::AddCpu(Cpu& cpu, ColumnSet needed,
                                  CountersetSample* sample) {
  sample->AddInstance(cpu.utf16_name, cpu.number);
  const auto set_time = [&](Column column, uint64_t jiffies) {
    sample->Set(column, jiffies * k100NSecPerJiffy);
  };
  const auto& jiffies = cpu.jiffies;
  const uint64_t idle = jiffies[kIdle] + jiffies[kIoWait];
  set_time(kProcessorTime, idle);  // an inverse timer counts idle time
  set_time(kUserTime, jiffies[kUser] + jiffies[kNice]);
  set_time(kPrivilegedTime,
           jiffies[kSystem] + jiffies[kIrq] + jiffies[kSoftIrq]);
  set_time(kDpcTime, jiffies[kSoftIrq]);
  set_time(kInterruptTime, jiffies[kIrq]);
  set_time(kIdleTime, idle);
  set_time(kStealTime, jiffies[kSteal]);
  set_time(kGuestTime, jiffies[kGuest] + jiffies[kGuestNice]);
  set_time(kIoWaitTime, jiffies[kIoWait]);
  if ((needed & kInterruptColumns) != 0) {
    sample->Set(kInterruptsPerSec, cpu.interrupts.total());
    sample->Set(kClockInterruptsPerSec, cpu.clock_interrupts.total());
  }
  if (Has(needed, kDpcsQueuedPerSec)) {
    sample->Set(kDpcsQueuedPerSec, cpu.softirqs.total());
  }
  if ((needed & kFrequencyColumns) != 0) ReadFrequency(cpu, sample);
  if ((needed & kIdleStateColumns) != 0) ReadIdleStates(cpu, sample);
}

absl::Status ProcessorInformation::ReadStat() {
  ASSIGN_OR_RETURN(absl::string_view text, stat_.Read(&buffer_));
  for (auto& [number, cpu] : cpus_) cpu.online = false;
  absl::string_view line;
  while (NextLine(&text, &line) && absl::StartsWith(line, "cpu")) {
    const auto number = CpuNumber(NextWord(&line));
    if (!number.has_value()) continue;
    Cpu& cpu = GetCpu(*number);
    cpu.online = true;
    for (uint64_t& jiffies : cpu.jiffies) {
      jiffies = WithoutSmallFalls(jiffies, NumberOrZero(&line));
    }
  }
  return absl::OkStatus();
}

absl::Status ProcessorInformation::ReadInterrupts() {
  ASSIGN_OR_RETURN(const absl::string_view text, interrupts_.Read(&buffer_));
  // CPUs that were never online are skipped: their node is unknown.
  for (auto& [number, cpu] : cpus_) {
    cpu.interrupts.Begin();
    cpu.clock_interrupts.Begin();
  }
  ForEachCpuNumber(
      text, [this](absl::string_view label, uint32_t number, uint64_t count) {
        const auto cpu = cpus_.find(number);
        if (cpu == cpus_.end()) return;
        cpu->second.interrupts.Add(count);
        if (label == "LOC") cpu->second.clock_interrupts.Add(count);
      });
  for (auto& [number, cpu] : cpus_) {
    cpu.interrupts.End();
    cpu.clock_interrupts.End();
  }
  return absl::OkStatus();
}

absl::Status ProcessorInformation::ReadSoftirqs() {
  ASSIGN_OR_RETURN(const absl::string_view text, softirqs_.Read(&buffer_));
  for (auto& [number, cpu] : cpus_) cpu.softirqs.Begin();
  ForEachCpuNumber(text,
                   [this](absl::string_view, uint32_t number, uint64_t count) {
                     const auto cpu = cpus_.find(number);
                     if (cpu != cpus_.end()) cpu->second.softirqs.Add(count);
                   });
  for (auto& [number, cpu] : cpus_) cpu.softirqs.End();
  return absl::OkStatus();
}

void ProcessorInformation::ReadFrequency(Cpu& cpu, CountersetSample* sample) {
  const std::string directory = absl::StrCat(
      root_, "/sys/devices/system/cpu/cpu", cpu.number, "/cpufreq");
  if (!cpu.frequency.has_value()) {
    cpu.frequency.emplace(directory + "/scaling_cur_freq",
                          ProcFile::Kind::kSmall);
    cpu.maximum_khz = ReadNumber(directory + "/cpuinfo_max_freq").value_or(0);
  }
  auto text = cpu.frequency->Read(&buffer_);
  if (!text.ok()) return;  // no cpufreq, as in many virtual machines
  const auto khz = NextNumber(&*text);
  if (!khz.has_value()) return;
  sample->Set(kFrequency, *khz / 1000);
  if (cpu.maximum_khz != 0) {
    sample->Set(kPercentOfMaximum, *khz * 100 / cpu.maximum_khz);
  }
}

void ProcessorInformation::ReadIdleStates(Cpu& cpu, CountersetSample* sample) {
  std::array<uint64_t, kNumColumns> sums = {};
  ColumnSet present = 0;
  for (IdleState& state : cpu.idle_states) {
    auto time = state.time.Read(&buffer_);
    if (!time.ok()) continue;
    sums[state.time_column] += NumberOrZero(&*time) * k100NSecPerMicrosecond;
    auto usage = state.usage.Read(&buffer_);
    if (!usage.ok()) continue;
    sums[state.transitions_column] += NumberOrZero(&*usage);
    present |= Bit(state.time_column) | Bit(state.transitions_column);
  }
  for (size_t i = 0; i < kNumColumns; ++i) {
    if (Has(present, i)) sample->Set(i, sums[i]);
  }
}

ProcessorInformation::Cpu& ProcessorInformation::GetCpu(uint32_t number) {
  const auto [entry, is_new] = cpus_.try_emplace(number);
  Cpu& cpu = entry->second;
  if (!is_new) return cpu;
  if (!node_of_cpu_.contains(number)) FindNodes();
  cpu.number = number;
  cpu.node = node_of_cpu_[number];  // 0 on a machine without NUMA
  cpu.utf16_name = Utf16FromUtf8(absl::StrCat(cpu.node, ",", number));
  nodes_.try_emplace(cpu.node, cpu.node);
  for (int i = 0;; ++i) {
    const std::string directory = absl::StrCat(
        root_, "/sys/devices/system/cpu/cpu", number, "/cpuidle/state", i);
    const auto latency = ReadNumber(directory + "/latency");
    if (!latency.has_value()) break;
    if (IsPolling(directory)) continue;
    const size_t column = TimeColumnOf(*latency);
    cpu.idle_states.push_back(
        {.time_column = column,
         .transitions_column = column - kC1Time + kC1Transitions,
         .time = ProcFile(directory + "/time", ProcFile::Kind::kSmall),
         .usage = ProcFile(directory + "/usage", ProcFile::Kind::kSmall)});
  }
  return cpu;
}

void ProcessorInformation::FindNodes() {
  const std::string online = root_ + "/sys/devices/system/node/online";
  ForEachInList(online, kMaxNodes, [this](uint32_t node) {
    ForEachInList(
        absl::StrCat(root_, "/sys/devices/system/node/node", node, "/cpulist"),
        kMaxCpus, [&](uint32_t cpu) { node_of_cpu_[cpu] = node; });
  });
}

}  // namespace fleetperf::agent
