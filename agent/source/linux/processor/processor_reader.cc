#include "agent/source/linux/processor/processor_reader.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/source/linux/noted_file.h"
#include "agent/source/linux/processor/processor_counters.h"
#include "agent/source/linux/sysfs.h"
#include "agent/source/linux/text.h"
#include "agent/source/linux/units.h"

namespace fleetperf::agent {
namespace {

using perflib::Clocks;

constexpr ColumnSet kFrequencyColumns =
    Bit(kFrequency) | Bit(kPercentOfMaximum) | Bit(kPerformanceLimit);
constexpr ColumnSet kInterruptColumns =
    Bit(kInterruptsPerSec) | Bit(kClockInterruptsPerSec);
constexpr ColumnSet kIdleStateColumns =
    Bit(kC1Time) | Bit(kC2Time) | Bit(kC3Time) | Bit(kC1Transitions) |
    Bit(kC2Transitions) | Bit(kC3Transitions) | Bit(kIdleBreakEvents) |
    Bit(kAverageIdleTime) | Bit(kAverageIdleTimeBase);
constexpr ColumnSet kThrottlingColumns =
    Bit(kThermalThrottles) | Bit(kThermalThrottleTime);

// Returns the time column for idle states of this exit latency.
size_t TimeColumnOf(uint64_t latency_us) {
  return latency_us < 10 ? kC1Time : latency_us < 100 ? kC2Time : kC3Time;
}

// Idle and I/O wait times are estimates and may step back slightly between two
// reads: by less than this. The other times may by a unit, because of rounding.
constexpr uint64_t kEstimateError = 3 * kUserHz;
constexpr uint64_t kRoundingError = 2;

// Average Idle Time is shown in units of 100 ns, but its type multiplies by
// 100.
constexpr uint64_t kPerIdlePeriod = 100;

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

uint64_t ProcessorReader::Cpu::PrivilegedJiffies() const {
  return jiffies[kSys] + jiffies[kIrq] + jiffies[kSoftIrq];
}

// Guest times are part of user times.
uint64_t ProcessorReader::Cpu::BusyJiffies() const {
  return jiffies[kUser] + jiffies[kNice] + PrivilegedJiffies() +
         jiffies[kSteal];
}

ProcessorReader::ProcessorReader(const std::string& root)
    : root_(root),
      stat_(root + "/proc/stat"),
      interrupts_(root + "/proc/interrupts"),
      softirqs_(root + "/proc/softirqs") {}

void ProcessorReader::Read(ColumnSet needed, const Clocks& clocks,
                           CountersetSample* sample) {
  ReadStat(clocks, sample);
  has_interrupts_ = (needed & kInterruptColumns) != 0 && ReadInterrupts(sample);
  has_softirqs_ = Has(needed, kDpcsQueuedPerSec) && ReadSoftirqs(sample);
}

void ProcessorReader::ReadStat(const Clocks& clocks, CountersetSample* sample) {
  ++pass_;
  const int64_t elapsed = elapsed_.Advance(clocks);
  bound_.BeforeRead();
  auto text = ReadOrNote(stat_, &buffer_, sample);
  if (!text.has_value()) return;
  bound_.AfterRead(clocks);
  bool has_times = false;
  absl::string_view line;
  while (NextLine(&*text, &line) && absl::StartsWith(line, "cpu")) {
    const auto number = CpuNumber(NextWord(&line));
    if (!number.has_value()) continue;
    Jiffies jiffies = {};
    const std::optional<size_t> num_fields = ParseFields(line, &jiffies);
    if (!num_fields.has_value()) continue;
    Cpu& cpu = GetCpu(*number);
    UpdateTimes(jiffies, *num_fields, clocks, elapsed, cpu);
    has_times |= *num_fields > 0;
    cpu.last_pass = pass_;
  }
  if (!has_times) NoteStub(stat_, sample);
}

// Returns the number of fields that the kernel counts: 0 if all are 0.
// std::nullopt if one has no value.
std::optional<size_t> ProcessorReader::ParseFields(absl::string_view text,
                                                   Jiffies* jiffies) {
  size_t count = 0;
  uint64_t sum = 0;
  for (absl::string_view word = NextWord(&text);
       !word.empty() && count < kNumFields; word = NextWord(&text)) {
    const std::optional<uint64_t> field = NextNumber(&word);
    if (!field.has_value()) return std::nullopt;
    (*jiffies)[count++] = *field;
    sum += *field;
  }
  return sum > 0 ? count : 0;
}

void ProcessorReader::UpdateTimes(const Jiffies& jiffies, size_t num_fields,
                                  const Clocks& clocks, int64_t elapsed,
                                  Cpu& cpu) {
  const bool had_times = cpu.last_pass + 1 == pass_ && cpu.num_fields > 0;
  cpu.num_fields = num_fields;
  if (cpu.num_fields == 0) return;
  const bool continues = had_times && Continues(cpu.jiffies, jiffies);
  if (had_times && !continues) {
    ++cpu.lives;
    cpu.life_start = LifeStart(clocks);
  }
  for (size_t i = 0; i < kNumFields; ++i) {
    const uint64_t least = continues ? cpu.jiffies[i] : 0;
    cpu.jiffies[i] = std::max(jiffies[i], least);
  }
  const uint64_t busy = cpu.BusyJiffies() * k100NSecPerJiffy;
  if (continues) {
    cpu.not_busy.Add(elapsed, busy);
  } else {
    cpu.not_busy.Start(busy);
  }
}

bool ProcessorReader::Continues(const Jiffies& last, const Jiffies& now) const {
  for (size_t i = 0; i < kNumFields; ++i) {
    // The kernel may move the present idle period from one to the other.
    const bool is_estimate = i == kIdle || i == kIoWait;
    if (now[i] < last[i]) {
      const uint64_t fall = last[i] - now[i];
      if (fall >= (is_estimate ? kEstimateError : kRoundingError)) return false;
      continue;
    }
    const uint64_t moved =
        is_estimate ? std::min(kEstimateError, now[i] - last[i]) : 0;
    if (!bound_.Allows(last[i] * k100NSecPerJiffy,
                       (now[i] - moved) * k100NSecPerJiffy)) {
      return false;
    }
  }
  return true;
}

bool ProcessorReader::ReadInterrupts(CountersetSample* sample) {
  has_clock_interrupts_ = false;
  clock_counts_.clear();
  const bool is_read =
      ReadTable(interrupts_, sample, [this](const InterruptRow& row) {
        if (row.label != "LOC") return;
        clock_counts_.assign(row.counts.begin(), row.counts.end());
      });
  if (!is_read) return false;
  has_clock_interrupts_ = !clock_counts_.empty();
  UpdateCounts(&Cpu::interrupts, sums_);
  UpdateCounts(&Cpu::clock_interrupts, clock_counts_);
  return true;
}

bool ProcessorReader::ReadSoftirqs(CountersetSample* sample) {
  if (!ReadTable(softirqs_, sample, [](const InterruptRow&) {})) return false;
  UpdateCounts(&Cpu::softirqs, sums_);
  return true;
}

bool ProcessorReader::ReadTable(
    ProcFile& file, CountersetSample* sample,
    absl::FunctionRef<void(const InterruptRow& row)> use) {
  const auto text = ReadOrNote(file, &buffer_, sample);
  if (!text.has_value()) return false;
  sums_.clear();
  const auto add = [&](const InterruptRow& row) {
    AddToSums(row);
    use(row);
  };
  if (!ForEachInterruptRow(*text, &table_memory_, add)) return false;
  const bool has_counts = std::any_of(sums_.begin(), sums_.end(),
                                      [](uint64_t sum) { return sum > 0; });
  if (!has_counts) NoteStub(file, sample);
  return has_counts;
}

void ProcessorReader::AddToSums(const InterruptRow& row) {
  sums_.resize(row.counts.size());
  for (size_t i = 0; i < sums_.size(); ++i) sums_[i] += row.counts[i];
}

void ProcessorReader::UpdateCounts(EventCount Cpu::*count,
                                   absl::Span<const uint64_t> sums) {
  for (size_t i = 0; i < sums.size(); ++i) {
    // A CPU that was never online has no row.
    const auto cpu = cpus_.find(table_memory_.cpus[i]);
    if (cpu != cpus_.end()) (cpu->second.*count).Update(sums[i]);
  }
}

void ProcessorReader::SetValues(Cpu& cpu, ColumnSet needed,
                                CountersetSample* sample) {
  SetTimes(cpu, sample);
  const auto set_count = [&](ProcessorColumn column, bool has_counts,
                             const EventCount& count) {
    if (Has(needed, column) && has_counts && count.was_read()) {
      sample->Set(column, count.total());
    }
  };
  set_count(kInterruptsPerSec, has_interrupts_, cpu.interrupts);
  // Only x86 has them.
  set_count(kClockInterruptsPerSec, has_clock_interrupts_,
            cpu.clock_interrupts);
  set_count(kDpcsQueuedPerSec, has_softirqs_, cpu.softirqs);
  if ((needed & kFrequencyColumns) != 0) SetFrequencies(cpu, needed, sample);
  if ((needed & kThrottlingColumns) != 0) SetThrottling(cpu, sample);
  if ((needed & kIdleStateColumns) != 0) SetIdleStates(cpu, needed, sample);
}

void ProcessorReader::SetTimes(const Cpu& cpu, CountersetSample* sample) {
  if (cpu.num_fields == 0) return;
  const auto set_time = [&](ProcessorColumn column, uint64_t jiffies) {
    sample->Set(column, jiffies * k100NSecPerJiffy);
  };
  // Old kernels have fewer fields.
  const auto set_field = [&](ProcessorColumn column, Field field) {
    if (field < cpu.num_fields) set_time(column, cpu.jiffies[field]);
  };
  const auto& jiffies = cpu.jiffies;
  sample->Set(kLifeStart, cpu.life_start);
  sample->Set(kProcessorTime, cpu.not_busy.value());
  set_time(kUserTime, jiffies[kUser] + jiffies[kNice]);
  if (cpu.num_fields > kSys) set_time(kPrivilegedTime, cpu.PrivilegedJiffies());
  set_field(kDpcTime, kSoftIrq);
  set_field(kInterruptTime, kIrq);
  if (cpu.num_fields > kIdle) {
    set_time(kIdleTime, jiffies[kIdle] + jiffies[kIoWait]);
  }
  set_field(kStealTime, kSteal);
  if (cpu.num_fields > kGuest) {
    set_time(kGuestTime, jiffies[kGuest] + jiffies[kGuestNice]);
  }
  set_field(kIoWaitTime, kIoWait);
}

// The files are missing without cpufreq, as in many virtual machines.
void ProcessorReader::SetFrequencies(Cpu& cpu, ColumnSet needed,
                                     CountersetSample* sample) {
  // Drivers print 0 if they do not know it.
  if (const auto khz = ReadNumber(cpu.frequency); khz.value_or(0) > 0) {
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
  const auto add = [&](size_t column, std::optional<uint64_t> value) {
    if (Has(needed, column)) sample->Add(column, value);
  };
  for (IdleState& state : cpu.idle_states) {
    const auto time = Times(ReadNumber(state.time), k100NSecPerMicrosecond);
    const auto transitions = ReadNumber(state.usage);
    sample->Add(state.time_column, time);
    sample->Add(state.transitions_column, transitions);
    add(kIdleBreakEvents, transitions);
    add(kAverageIdleTime, time);
    add(kAverageIdleTimeBase, Times(transitions, kPerIdlePeriod));
  }
}

std::optional<uint64_t> ProcessorReader::ReadNumber(ProcFile& file) {
  auto text = file.Read(&buffer_);
  return text.ok() ? NextNumber(&*text) : std::nullopt;
}

ProcessorReader::Cpu& ProcessorReader::GetCpu(uint32_t number) {
  const auto found = cpus_.find(number);
  if (found != cpus_.end()) return found->second;
  const std::string directory =
      absl::StrCat(root_, "/sys/devices/system/cpu/cpu", number);
  Cpu& cpu = cpus_.try_emplace(number, directory).first->second;
  cpu.number = number;
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

}  // namespace fleetperf::agent
