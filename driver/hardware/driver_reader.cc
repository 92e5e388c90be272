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
#include "base/status_macros.h"
#include "driver/hardware/counter_program.h"
#include "driver/hardware/driver_reply.h"

namespace fleetperf::hardware {
namespace {

using pmu::Command;

constexpr uint32_t kFixedCounter = 1u << 30;  // in RDPMC's index
constexpr uint64_t kMicrojoules = 1'000'000;
constexpr absl::Duration kShortestMeasurement = absl::Milliseconds(10);

uint64_t Microjoules(uint64_t energy, uint32_t unit) {
  return absl::Uint128Low64(absl::uint128(energy) * kMicrojoules >>
                            static_cast<int>(unit));
}

// The programs of all types of cores that have a PMU.
std::map<uint32_t, CounterProgram> ChoosePrograms(
    const DriverDescription& description) {
  std::map<uint32_t, CounterProgram> programs;
  for (const pmu::CpuDescription& cpu : description.cpus) {
    if (cpu.is_online == 0 || cpu.pmu_version == 0 ||
        programs.size() == pmu::kMaxCoreTypes ||
        programs.contains(cpu.core_type)) {
      continue;
    }
    programs.emplace(cpu.core_type, ChooseProgram(description.machine, cpu));
  }
  return programs;
}

class DriverReader : public HardwareReader {
 public:
  DriverReader(std::unique_ptr<Device> device, const ReaderOptions& options,
               const Clock& clock, DriverDescription description,
               std::map<uint32_t, CounterProgram> programs)
      : device_(std::move(device)),
        options_(options),
        clock_(clock),
        description_(std::move(description)),
        programs_(std::move(programs)),
        timestamp_hertz_(description_.machine.tsc_hz) {}

  absl::Status Update() override {
    if (!is_programmed_) RETURN_IF_ERROR(Program());
    ASSIGN_OR_RETURN(const std::string reply,
                     device_->Call(Command::kRead, ""));
    ASSIGN_OR_RETURN(std::vector<pmu::CpuCounts> counts, ParseCounts(reply));
    time_ = clock_.Monotonic();
    RETURN_IF_ERROR(DescribeNewCpus(counts));
    counts_ = std::move(counts);
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
    reading[HardwareCount::kTimestamp] = counts.tsc;
    AddTemperature(cpu, &reading);
    if (first_of_package_.contains(cpu)) AddEnergy(cpu, &reading);
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
  const std::map<uint32_t, CounterProgram> programs_;  // by type of core
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
  std::map<uint32_t, CounterProgram> programs = ChoosePrograms(description);
  if (programs.empty()) {
    return ErrorOf(Command::kDescribe, pmu::Result::kNoPmu);
  }
  return std::make_unique<DriverReader>(std::move(device), options, clock,
                                        std::move(description),
                                        std::move(programs));
}

}  // namespace fleetperf::hardware
