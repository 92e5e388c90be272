#include "agent/source/linux/processor_reader.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/source/linux/processor_counters.h"
#include "agent/source/linux/sys_values.h"
#include "agent/source/linux/text.h"
#include "agent/source/linux/units.h"
#include "base/status_macros.h"

namespace fleetperf::agent {
namespace {

using perflib::Clocks;

constexpr ColumnSet kFrequencyColumns =
    Bit(kFrequency) | Bit(kPercentOfMaximum) | Bit(kPerformanceLimit);
constexpr ColumnSet kInterruptColumns =
    Bit(kInterruptsPerSec) | Bit(kClockInterruptsPerSec);
constexpr ColumnSet kIdleStateColumns =
    Bit(kC1Time) | Bit(kC2Time) | Bit(kC3Time) | Bit(kC1Transitions) |
    Bit(kC2Transitions) | Bit(kC3Transitions) | Bit(kIdleBreakEvents);
constexpr ColumnSet kThrottlingColumns =
    Bit(kThermalThrottles) | Bit(kThermalThrottleTime);

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

// The files of throttling exist only for Intel's processors.
std::optional<ProcFile> OpenIfPresent(const std::string& path) {
  if (!ReadNumber(path).has_value()) return std::nullopt;
  return ProcFile(path, ProcFile::Kind::kSmall);
}

// Returns whether the CPU spins in this state, which makes it busy, not idle.
bool IsPolling(const std::string& state_directory) {
  return ReadFirstLine(state_directory + "/name") == "POLL";
}

}  // namespace

ProcessorReader::Cpu::Cpu(const std::string& directory)
    : frequency(directory + "/cpufreq/scaling_cur_freq",
                ProcFile::Kind::kSmall),
      frequency_limit(directory + "/cpufreq/scaling_max_freq",
                      ProcFile::Kind::kSmall),
      highest_khz(agent::ReadNumber(directory + "/cpufreq/cpuinfo_max_freq")
                      .value_or(0)),
      throttles(
          OpenIfPresent(directory + "/thermal_throttle/core_throttle_count")),
      throttle_time(OpenIfPresent(
          directory + "/thermal_throttle/core_throttle_total_time_ms")) {}

ProcessorReader::ProcessorReader(const std::string& root)
    : root_(root),
      stat_(root + "/proc/stat"),
      interrupts_(root + "/proc/interrupts"),
      softirqs_(root + "/proc/softirqs") {}

absl::Status ProcessorReader::Read(ColumnSet needed, const Clocks& clocks) {
  RETURN_IF_ERROR(ReadStat(clocks));
  if ((needed & kInterruptColumns) != 0) RETURN_IF_ERROR(ReadInterrupts());
  if (Has(needed, kDpcsQueuedPerSec)) RETURN_IF_ERROR(ReadSoftirqs());
  return absl::OkStatus();
}

absl::Status ProcessorReader::ReadStat(const Clocks& clocks) {
  ASSIGN_OR_RETURN(absl::string_view text, stat_.Read(&buffer_));
  const int64_t elapsed = elapsed_.Advance(clocks);
  ++pass_;
  absl::string_view line;
  while (NextLine(&text, &line) && absl::StartsWith(line, "cpu")) {
    const auto number = CpuNumber(NextWord(&line));
    if (number.has_value()) UpdateTimes(line, elapsed, GetCpu(*number));
  }
  return absl::OkStatus();
}

void ProcessorReader::UpdateTimes(absl::string_view fields, int64_t elapsed,
                                  Cpu& cpu) {
  for (uint64_t& jiffies : cpu.jiffies) {
    jiffies = WithoutSmallFalls(jiffies, NumberOrZero(&fields));
  }
  uint64_t busy = 0;
  // Guest times are part of user times.
  for (const Field field : {kUser, kNice, kSys, kIrq, kSoftIrq, kSteal}) {
    busy += cpu.jiffies[field] * k100NSecPerJiffy;
  }
  if (cpu.last_pass + 1 == pass_) {
    cpu.not_busy.Add(elapsed, busy);
  } else {
    cpu.not_busy.Start(busy);
  }
  cpu.last_pass = pass_;
}

absl::Status ProcessorReader::ReadInterrupts() {
  ASSIGN_OR_RETURN(const absl::string_view text, interrupts_.Read(&buffer_));
  sums_.clear();
  clock_counts_.clear();
  ForEachInterruptRow(text, &table_memory_, [this](const InterruptRow& row) {
    AddToSums(row);
    if (row.label == "LOC") {
      clock_counts_.assign(row.counts.begin(), row.counts.end());
    }
  });
  UpdateCounts(&Cpu::interrupts, sums_);
  UpdateCounts(&Cpu::clock_interrupts, clock_counts_);
  return absl::OkStatus();
}

absl::Status ProcessorReader::ReadSoftirqs() {
  ASSIGN_OR_RETURN(const absl::string_view text, softirqs_.Read(&buffer_));
  sums_.clear();
  ForEachInterruptRow(text, &table_memory_,
                      [this](const InterruptRow& row) { AddToSums(row); });
  UpdateCounts(&Cpu::softirqs, sums_);
  return absl::OkStatus();
}

void ProcessorReader::AddToSums(const InterruptRow& row) {
  sums_.resize(row.counts.size());
  for (size_t i = 0; i < sums_.size(); ++i) sums_[i] += row.counts[i];
}

void ProcessorReader::UpdateCounts(EventCount Cpu::*count,
                                   absl::Span<const uint64_t> sums) {
  for (size_t i = 0; i < sums.size(); ++i) {
    // A CPU that was never online is skipped: its node is unknown.
    const auto cpu = cpus_.find(table_memory_.cpus[i]);
    if (cpu != cpus_.end()) (cpu->second.*count).Update(sums[i]);
  }
}

void ProcessorReader::SetValues(Cpu& cpu, ColumnSet needed,
                                CountersetSample* sample) {
  SetTimes(cpu, sample);
  if (Has(needed, kInterruptsPerSec)) {
    sample->Set(kInterruptsPerSec, cpu.interrupts.total());
  }
  // Only x86 has them.
  if (Has(needed, kClockInterruptsPerSec) && cpu.clock_interrupts.was_read()) {
    sample->Set(kClockInterruptsPerSec, cpu.clock_interrupts.total());
  }
  if (Has(needed, kDpcsQueuedPerSec)) {
    sample->Set(kDpcsQueuedPerSec, cpu.softirqs.total());
  }
  if ((needed & kFrequencyColumns) != 0) SetFrequencies(cpu, needed, sample);
  if ((needed & kThrottlingColumns) != 0) SetThrottling(cpu, sample);
  if ((needed & kIdleStateColumns) != 0) SetIdleStates(cpu, needed, sample);
}

void ProcessorReader::SetTimes(const Cpu& cpu, CountersetSample* sample) {
  const auto set_time = [&](ProcessorColumn column, uint64_t jiffies) {
    sample->Set(column, jiffies * k100NSecPerJiffy);
  };
  const auto& jiffies = cpu.jiffies;
  sample->Set(kProcessorTime, cpu.not_busy.value());
  set_time(kUserTime, jiffies[kUser] + jiffies[kNice]);
  set_time(kPrivilegedTime, jiffies[kSys] + jiffies[kIrq] + jiffies[kSoftIrq]);
  set_time(kDpcTime, jiffies[kSoftIrq]);
  set_time(kInterruptTime, jiffies[kIrq]);
  set_time(kIdleTime, jiffies[kIdle] + jiffies[kIoWait]);
  set_time(kStealTime, jiffies[kSteal]);
  set_time(kGuestTime, jiffies[kGuest] + jiffies[kGuestNice]);
  set_time(kIoWaitTime, jiffies[kIoWait]);
}

// The files are missing without cpufreq, as in many virtual machines.
void ProcessorReader::SetFrequencies(Cpu& cpu, ColumnSet needed,
                                     CountersetSample* sample) {
  if (const auto khz = ReadNumber(cpu.frequency)) {
    sample->Set(kFrequency, *khz / 1000);
    if (cpu.highest_khz != 0) {
      sample->Set(kPercentOfMaximum, *khz * 100 / cpu.highest_khz);
    }
  }
  if (!Has(needed, kPerformanceLimit) || cpu.highest_khz == 0) return;
  if (const auto khz = ReadNumber(cpu.frequency_limit)) {
    sample->Set(kPerformanceLimit, *khz * 100 / cpu.highest_khz);
  }
}

void ProcessorReader::SetThrottling(Cpu& cpu, CountersetSample* sample) {
  if (!cpu.throttles.has_value()) return;
  if (const auto count = ReadNumber(*cpu.throttles)) {
    sample->Set(kThermalThrottles, *count);
  }
  if (!cpu.throttle_time.has_value()) return;
  if (const auto milliseconds = ReadNumber(*cpu.throttle_time)) {
    sample->Set(kThermalThrottleTime, *milliseconds * k100NSecPerMillisecond);
  }
}

void ProcessorReader::SetIdleStates(Cpu& cpu, ColumnSet needed,
                                    CountersetSample* sample) {
  std::array<uint64_t, kNumProcessorColumns> sums = {};
  uint64_t transitions = 0;
  ColumnSet present = 0;
  for (IdleState& state : cpu.idle_states) {
    const auto time = ReadNumber(state.time);
    const auto usage = ReadNumber(state.usage);
    if (!time.has_value() || !usage.has_value()) continue;
    sums[state.time_column] += *time * k100NSecPerMicrosecond;
    sums[state.transitions_column] += *usage;
    transitions += *usage;
    present |= Bit(state.time_column) | Bit(state.transitions_column);
  }
  for (size_t i = 0; i < sums.size(); ++i) {
    if (Has(present, i)) sample->Set(i, sums[i]);
  }
  if (present != 0 && Has(needed, kIdleBreakEvents)) {
    sample->Set(kIdleBreakEvents, transitions);
  }
}

std::optional<uint64_t> ProcessorReader::ReadNumber(ProcFile& file) {
  auto text = file.Read(&buffer_);
  if (!text.ok()) return std::nullopt;
  return NextNumber(&*text);
}

ProcessorReader::Cpu& ProcessorReader::GetCpu(uint32_t number) {
  const auto found = cpus_.find(number);
  if (found != cpus_.end()) return found->second;
  const std::string directory =
      absl::StrCat(root_, "/sys/devices/system/cpu/cpu", number);
  Cpu& cpu = cpus_.try_emplace(number, directory).first->second;
  if (!node_of_cpu_.contains(number)) FindNodes();
  cpu.number = number;
  cpu.node = node_of_cpu_[number];  // 0 on a machine without NUMA
  FindIdleStates(directory, cpu);
  return cpu;
}

void ProcessorReader::FindIdleStates(const std::string& directory, Cpu& cpu) {
  for (int i = 0;; ++i) {
    const std::string state = absl::StrCat(directory, "/cpuidle/state", i);
    const auto latency = agent::ReadNumber(state + "/latency");
    if (!latency.has_value()) break;
    if (IsPolling(state)) continue;
    const size_t column = TimeColumnOf(*latency);
    cpu.idle_states.push_back(
        {.time_column = column,
         .transitions_column = column - kC1Time + kC1Transitions,
         .time = ProcFile(state + "/time", ProcFile::Kind::kSmall),
         .usage = ProcFile(state + "/usage", ProcFile::Kind::kSmall)});
  }
}

void ProcessorReader::FindNodes() {
  const auto add_node = [this](uint32_t node) {
    ReadListFile(
        absl::StrCat(root_, "/sys/devices/system/node/node", node, "/cpulist"),
        kMaxCpus, [&](uint32_t cpu) { node_of_cpu_[cpu] = node; });
  };
  ReadListFile(root_ + "/sys/devices/system/node/online", kMaxNodes, add_node);
}

}  // namespace fleetperf::agent
