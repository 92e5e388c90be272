#include "driver/hardware/driver_reader.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/numeric/int128.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "driver/hardware/counter_program.h"
#include "driver/pmu/protocol.h"

namespace fleetperf::hardware {
namespace {

using pmu::Command;

struct DriverDescription {
  pmu::Description machine;
  std::vector<pmu::CpuDescription> cpus;  // by number
};

constexpr uint32_t kMaxWidth = 64;

absl::Status Wrong(absl::string_view what) {
  return absl::DataLossError(
      absl::StrCat("the driver's reply has a wrong ", what,
                   "; install the driver of the same version as this program"));
}

// Copies the structure at the start of the reply, and the array behind it.
template <typename Head, typename Element>
absl::Status Parse(absl::string_view reply, Head* head,
                   std::vector<Element>* elements) {
  if (reply.size() < sizeof(Head)) return Wrong("size");
  std::memcpy(head, reply.data(), sizeof(Head));
  if (head->header.version != pmu::kProtocolVersion) return Wrong("version");
  if (head->header.size < sizeof(Head) || head->header.size > reply.size()) {
    return Wrong("size of its head");
  }
  if (head->num_cpus > pmu::kMaxCpus) return Wrong("number of CPUs");
  if (head->cpu_size < sizeof(Element)) return Wrong("size of a CPU");
  const absl::string_view array = reply.substr(head->header.size);
  if (array.size() != size_t{head->num_cpus} * head->cpu_size) {
    return Wrong("size");
  }
  elements->resize(head->num_cpus);
  for (size_t i = 0; i < elements->size(); ++i) {
    std::memcpy(&(*elements)[i], array.data() + i * head->cpu_size,
                sizeof(Element));
  }
  return absl::OkStatus();
}

bool IsPlausible(const pmu::CpuDescription& cpu) {
  return cpu.num_general <= pmu::kMaxGeneralCounters &&
         cpu.fixed_counters < 1u << pmu::kMaxFixedCounters &&
         cpu.general_width <= kMaxWidth && cpu.fixed_width <= kMaxWidth;
}

// Replies are checked: the driver may be of another version, or another driver.
// Fields that a later version appends are ignored. DataLoss: sizes or numbers
// that no driver sends.
absl::StatusOr<DriverDescription> ParseDescription(absl::string_view reply) {
  DriverDescription description;
  RETURN_IF_ERROR(Parse(reply, &description.machine, &description.cpus));
  if (description.machine.energy_unit >= kMaxWidth ||
      description.machine.memory_energy_unit >= kMaxWidth) {
    return Wrong("unit of energy");
  }
  for (const pmu::CpuDescription& cpu : description.cpus) {
    if (!IsPlausible(cpu)) return Wrong("number or width of counters");
  }
  return description;
}

absl::StatusOr<std::vector<pmu::CpuCounts>> ParseCounts(
    absl::string_view reply) {
  pmu::Counts head;
  std::vector<pmu::CpuCounts> counts;
  RETURN_IF_ERROR(Parse(reply, &head, &counts));
  return counts;
}

constexpr uint32_t kFixedCounter = 1u << 30;  // in RDPMC's index
constexpr uint64_t kMicrojoules = 1'000'000;
constexpr absl::Duration kShortestMeasurement = absl::Milliseconds(10);

uint64_t Microjoules(uint64_t energy, uint32_t unit) {
  return absl::Uint128Low64(absl::uint128(energy) * kMicrojoules >>
                            static_cast<int>(unit));
}

using Programs = std::map<uint32_t, CounterProgram>;  // by type of core

// The programs of all types of cores that have a PMU.
Programs ChoosePrograms(const DriverDescription& description,
                        const Wishes& wishes) {
  Programs programs;
  for (const pmu::CpuDescription& cpu : description.cpus) {
    if (cpu.is_online == 0 || cpu.pmu_version == 0 ||
        programs.size() == pmu::kMaxCoreTypes ||
        programs.contains(cpu.core_type)) {
      continue;
    }
    programs.emplace(cpu.core_type,
                     ChooseProgram(description.machine, cpu, wishes));
  }
  return programs;
}

absl::Status CheckChosen(const ReaderOptions& options,
                         const Programs& programs) {
  for (const auto& [core_type, program] : programs) {
    if (program.chosen.size() < options.events.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("this CPU has counters for ", program.chosen.size(),
                       " events besides instructions and cycles, not for ",
                       options.events.size(), "; name fewer events"));
    }
  }
  return absl::OkStatus();
}

class DriverReader : public HardwareReader {
 public:
  DriverReader(std::unique_ptr<Device> device, const ReaderOptions& options,
               const Clock& clock, DriverDescription description,
               Programs programs)
      : device_(std::move(device)),
        options_(options),
        clock_(clock),
        description_(std::move(description)),
        programs_(std::move(programs)),
        timestamp_hertz_(description_.machine.tsc_hz) {}

  absl::Status Update() override {
    if (preferred_) RETURN_IF_ERROR(ChooseAgain());
    if (!is_programmed_) RETURN_IF_ERROR(Program());
    RETURN_IF_ERROR(ReadCounts());
    online_.clear();
    for (size_t cpu = 0; cpu < counts_.size(); ++cpu) {
      if (counts_[cpu].is_online == 0) continue;
      online_.push_back(static_cast<int>(cpu));
      known_.insert(static_cast<int>(cpu));
    }
    FindPackages();
    MeasureTimestamp();
    return absl::OkStatus();
  }

  void Prefer(const std::set<HardwareCount>& counts) override {
    preferred_ = counts;
  }

  const std::vector<int>& cpus() const override { return online_; }
  std::vector<int> known_cpus() const override {
    return {known_.begin(), known_.end()};
  }

  HardwareReading ReadingOf(int cpu) const override {
    HardwareReading reading{.cpu = cpu, .time = time_};
    const CounterProgram* const program = ProgramOf(cpu);
    if (program == nullptr || static_cast<size_t>(cpu) >= counts_.size()) {
      return reading;
    }
    const pmu::CpuCounts& counts = counts_[cpu];
    for (const CountSource& source : program->sources) {
      reading[source.count] = source.ValueIn(counts);
    }
    for (const uint32_t counter : program->chosen) {
      reading.chosen.push_back(counts.general[counter]);
    }
    if (first_of_package_.contains(cpu)) AddEnergy(cpu, &reading);
    AddEarlier(cpu, &reading);
    if (reading[HardwareCount::kL3Misses]) {
      reading[HardwareCount::kL3Instructions] =
          reading[HardwareCount::kInstructions];
    }
    reading[HardwareCount::kTimestamp] = counts.tsc;
    AddTemperature(cpu, &reading);
    return reading;
  }

  std::vector<CountedEvent> events() const override {
    std::vector<CountedEvent> events;
    for (const auto& [core_type, program] : programs_) {
      for (const CountSource& source : program.sources) {
        events.push_back({.count = source.count, .event = source.event});
      }
    }
    return events;
  }

  bool opens_user_reads() const override { return options_.allow_user_reads; }

  std::optional<UserCounter> user_counter(HardwareCount count,
                                          int cpu) const override {
    const CounterProgram* const program = ProgramOf(cpu);
    if (!options_.allow_user_reads || !is_programmed_ || program == nullptr ||
        !Has(cpu, pmu::kHasUserReads)) {
      return std::nullopt;
    }
    const pmu::CpuDescription& description = description_.cpus[cpu];
    for (const CountSource& source : program->sources) {
      if (source.count != count) continue;
      if (source.place == CountSource::Place::kFixed) {
        return UserCounter{.index = kFixedCounter | source.counter,
                           .width = description.fixed_width};
      }
      if (source.place == CountSource::Place::kGeneral) {
        return UserCounter{.index = source.counter,
                           .width = description.general_width};
      }
    }
    return std::nullopt;
  }

  uint64_t timestamp_hertz() const override { return timestamp_hertz_; }
  std::string origin() const override { return "fleetperf_pmu"; }

 private:
  absl::Status Program() {
    RETURN_IF_ERROR(device_->Call(Command::kReserve, "").status());
    pmu::ProgramRequest request;
    request.header.size = sizeof(request);
    request.flags = options_.allow_user_reads ? pmu::kAllowUserReads : 0;
    for (const auto& [core_type, program] : programs_) {
      request.programs[request.num_programs++] = program.core;
    }
    const absl::string_view bytes(reinterpret_cast<const char*>(&request),
                                  sizeof(request));
    const auto programmed = device_->Call(Command::kProgram, bytes);
    if (!programmed.ok()) {
      device_->Call(Command::kRelease, "").IgnoreError();
      return programmed.status();
    }
    is_programmed_ = true;
    return absl::OkStatus();
  }

  absl::Status ReadCounts() {
    ASSIGN_OR_RETURN(const std::string reply,
                     device_->Call(Command::kRead, ""));
    ASSIGN_OR_RETURN(std::vector<pmu::CpuCounts> counts, ParseCounts(reply));
    time_ = clock_.Monotonic();
    RETURN_IF_ERROR(DescribeNewCpus(counts));
    counts_ = std::move(counts);
    return absl::OkStatus();
  }

  // Chooses programs for the preferred counts. The driver counts from 0 after
  // each program, so that the counts up to now are kept.
  absl::Status ChooseAgain() {
    Programs programs = ChoosePrograms(
        description_, {.events = options_.events, .counts = *preferred_});
    if (programs != programs_) {
      if (is_programmed_) RETURN_IF_ERROR(ReadCounts());
      for (const int cpu : known_) earlier_[cpu] = CountsUntilNow(cpu);
      is_programmed_ = false;
      counts_.clear();
      programs_ = std::move(programs);
    }
    preferred_.reset();
    return absl::OkStatus();
  }

  // Also those of counts that have no counter now.
  HardwareReading CountsUntilNow(int cpu) const {
    HardwareReading counts = ReadingOf(cpu);
    const auto earlier = earlier_.find(cpu);
    if (earlier == earlier_.end()) return counts;
    for (size_t i = 0; i < counts.counts.size(); ++i) {
      if (!counts.counts[i]) counts.counts[i] = earlier->second.counts[i];
    }
    return counts;
  }

  // Adds what was counted before the last program.
  void AddEarlier(int cpu, HardwareReading* reading) const {
    const auto earlier = earlier_.find(cpu);
    if (earlier == earlier_.end()) return;
    for (size_t i = 0; i < reading->counts.size(); ++i) {
      std::optional<uint64_t>& count = reading->counts[i];
      if (count) *count += earlier->second.counts[i].value_or(0);
    }
    for (size_t i = 0; i < reading->chosen.size(); ++i) {
      if (i < earlier->second.chosen.size()) {
        reading->chosen[i] += earlier->second.chosen[i];
      }
    }
  }

  // A CPU that was offline has no description.
  absl::Status DescribeNewCpus(const std::vector<pmu::CpuCounts>& counts) {
    bool is_new = counts.size() > description_.cpus.size();
    for (size_t cpu = 0; !is_new && cpu < counts.size(); ++cpu) {
      is_new =
          counts[cpu].is_online != 0 && description_.cpus[cpu].is_online == 0;
    }
    if (!is_new) return absl::OkStatus();
    ASSIGN_OR_RETURN(const std::string reply,
                     device_->Call(Command::kDescribe, ""));
    ASSIGN_OR_RETURN(description_, ParseDescription(reply));
    return absl::OkStatus();
  }

  const CounterProgram* ProgramOf(int cpu) const {
    if (cpu < 0 || static_cast<size_t>(cpu) >= description_.cpus.size()) {
      return nullptr;
    }
    const auto program = programs_.find(description_.cpus[cpu].core_type);
    return program == programs_.end() ? nullptr : &program->second;
  }

  bool Has(int cpu, uint32_t capability) const {
    return (description_.cpus[cpu].capabilities & capability) != 0;
  }

  void FindPackages() {
    std::set<uint32_t> packages;
    first_of_package_.clear();
    for (const int cpu : online_) {
      if (static_cast<size_t>(cpu) < description_.cpus.size() &&
          packages.insert(description_.cpus[cpu].package).second) {
        first_of_package_.insert(cpu);
      }
    }
  }

  // AMD's CPUID does not tell the frequency: by the clock since the first
  // Update.
  void MeasureTimestamp() {
    if (description_.machine.tsc_hz != 0 || online_.empty()) return;
    const int cpu = online_.front();
    const uint64_t timestamp = counts_[cpu].tsc;
    // The timestamp counter may begin anew after a sleep.
    if (!start_ || start_->cpu != cpu || timestamp < start_->timestamp) {
      start_ = {.cpu = cpu, .timestamp = timestamp, .time = time_};
      return;
    }
    const absl::Duration elapsed = time_ - start_->time;
    if (elapsed < kShortestMeasurement) return;
    timestamp_hertz_ = static_cast<uint64_t>(
        std::llround(static_cast<double>(timestamp - start_->timestamp) /
                     absl::ToDoubleSeconds(elapsed)));
  }

  void AddTemperature(int cpu, HardwareReading* reading) const {
    const pmu::CpuCounts& counts = counts_[cpu];
    if (counts.has_temperature == 0) return;
    reading->temperature_headroom = counts.temperature_below_limit;
    if (counts.temperature_limit > counts.temperature_below_limit) {
      reading->temperature =
          counts.temperature_limit - counts.temperature_below_limit;
    }
  }

  // Some virtual machines have an energy counter that is always 0.
  void AddEnergy(int cpu, HardwareReading* reading) const {
    const pmu::CpuCounts& counts = counts_[cpu];
    const pmu::Description& machine = description_.machine;
    if (Has(cpu, pmu::kHasPackageEnergy) && counts.package_energy != 0) {
      (*reading)[HardwareCount::kPackageMicrojoules] =
          Microjoules(counts.package_energy, machine.energy_unit);
    }
    if (Has(cpu, pmu::kHasMemoryEnergy) && counts.memory_energy != 0) {
      (*reading)[HardwareCount::kMemoryMicrojoules] =
          Microjoules(counts.memory_energy, machine.memory_energy_unit);
    }
  }

  struct Start {
    int cpu;
    uint64_t timestamp;
    absl::Duration time;
  };

  const std::unique_ptr<Device> device_;
  const ReaderOptions options_;
  const Clock& clock_;
  DriverDescription description_;
  Programs programs_;
  std::optional<std::set<HardwareCount>> preferred_;  // not chosen for yet
  std::map<int, HardwareReading> earlier_;            // by CPU
  uint64_t timestamp_hertz_;
  bool is_programmed_ = false;
  absl::Duration time_;
  std::vector<pmu::CpuCounts> counts_;  // by CPU
  std::vector<int> online_;
  std::set<int> known_;
  std::set<int> first_of_package_;
  std::optional<Start> start_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<HardwareReader>> MakeDriverReader(
    std::unique_ptr<Device> device, const ReaderOptions& options,
    const Clock& clock) {
  ASSIGN_OR_RETURN(const std::string reply,
                   device->Call(Command::kDescribe, ""));
  ASSIGN_OR_RETURN(DriverDescription description, ParseDescription(reply));
  Programs programs = ChoosePrograms(description, {.events = options.events});
  if (programs.empty()) {
    return ErrorOf(Command::kDescribe, pmu::Result::kNoPmu);
  }
  RETURN_IF_ERROR(CheckChosen(options, programs));
  return std::make_unique<DriverReader>(std::move(device), options, clock,
                                        std::move(description),
                                        std::move(programs));
}

}  // namespace fleetperf::hardware
