#include "driver/hardware/linux/perf_event_reader.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "driver/hardware/linux/core_temperatures.h"
#include "driver/hardware/linux/model_events.h"
#include "driver/hardware/linux/timestamp_frequency.h"
#include "driver/perf_event/builder.h"
#include "driver/perf_event/cpu_counts.h"
#include "driver/perf_event/event.h"
#include "driver/perf_event/event_parser.h"

namespace fleetperf::hardware {
namespace {

using perf_event::ScaledTotal;

constexpr double kMicrojoulesPerJoule = 1e6;
constexpr double kBytesPerMib = 1 << 20;

struct NamedCount {
  HardwareCount count;
  std::string event;  // as perf names it
  // For events with a unit: how many of the count one unit is.
  double per_unit = 0;
};

// Events of a group are on the PMU at the same time, so that their ratios are
// right when groups take turns. The most important come first: the last groups
// are left out if descriptors are short.
std::vector<std::vector<NamedCount>> NamedCounts(perf_event::System& system) {
  using enum HardwareCount;
  std::vector<std::vector<NamedCount>> counts = {
      {{kInstructions, "instructions"},
       {kCycles, "cpu-cycles"},
       {kReferenceCycles, "ref-cycles"}},
      {{kL3References, "cache-references"}, {kL3Misses, "cache-misses"}},
      {{kBranches, "branch-instructions"}, {kBranchMisses, "branch-misses"}},
      {{kL1Loads, "L1-dcache-loads"}, {kL1Misses, "L1-dcache-load-misses"}},
      {{kSlots, "cpu/slots/"},
       {kRetiring, "cpu/topdown-retiring/"},
       {kBadSpeculation, "cpu/topdown-bad-spec/"},
       {kFrontendBound, "cpu/topdown-fe-bound/"},
       {kBackendBound, "cpu/topdown-be-bound/"}},
      {{kPackageMicrojoules, "power/energy-pkg/", kMicrojoulesPerJoule}},
      {{kMemoryMicrojoules, "power/energy-ram/", kMicrojoulesPerJoule}},
      {{kMemoryReadBytes, "uncore_imc/cas_count_read/", kBytesPerMib}},
      {{kMemoryWriteBytes, "uncore_imc/cas_count_write/", kBytesPerMib}},
      {{kMemoryReadBytes, "uncore_imc_free_running/data_read/", kBytesPerMib}},
      {{kMemoryWriteBytes, "uncore_imc_free_running/data_write/",
        kBytesPerMib}},
  };
  for (const L2Events& l2 : FindL2Events(system)) {
    counts.push_back({{kL2Hits, l2.hits}, {kL2Misses, l2.misses}});
  }
  return counts;
}

void AddTo(uint64_t value, std::optional<uint64_t>* sum) {
  *sum = sum->value_or(0) + value;
}

// The meaning of an event's count, and the factor for one count.
struct CountedPmuEvent {
  HardwareCount count;
  size_t group;  // among the PMUs that have the event
  double factor;
  std::string name;
};

struct Events {
  std::vector<CountedPmuEvent> all;  // by number in CpuCounts
  std::vector<std::vector<perf_event::Event>> groups;
};

// An event that several PMUs count (memory controllers, hybrid CPUs) is opened
// on each of them, in a group of its own.
Events FindEvents(perf_event::System& system) {
  Events events;
  for (const std::vector<NamedCount>& named : NamedCounts(system)) {
    std::vector<std::vector<perf_event::Event>> groups;
    std::vector<CountedPmuEvent> counted;
    for (const NamedCount& one : named) {
      auto found = perf_event::ParseEvents(one.event, system);
      if (!found.ok()) continue;
      if (groups.empty()) groups.resize(found->size());
      for (size_t i = 0; i < std::min(found->size(), groups.size()); ++i) {
        perf_event::Event& event = (*found)[i];
        counted.push_back(
            {.count = one.count,
             .group = i,
             .factor = one.per_unit == 0 ? 1 : event.scale * one.per_unit,
             .name = one.event});
        groups[i].push_back(std::move(event));
      }
    }
    // CpuCounts numbers events through the groups.
    std::stable_sort(
        counted.begin(), counted.end(),
        [](const auto& a, const auto& b) { return a.group < b.group; });
    events.all.insert(events.all.end(), counted.begin(), counted.end());
    std::move(groups.begin(), groups.end(), std::back_inserter(events.groups));
  }
  return events;
}

class PerfEventReader : public HardwareReader {
 public:
  PerfEventReader(perf_event::System& system, size_t max_descriptors,
                  const Clock& clock)
      : system_(system),
        clock_(clock),
        events_(FindEvents(system)),
        counts_({.system = &system,
                 .groups = events_.groups,
                 .max_descriptors = max_descriptors}),
        temperatures_(system) {}

  absl::Status Update() override {
    RETURN_IF_ERROR(counts_.Update());
    timestamp_ = system_.ReadTimestampCounter();
    time_ = clock_.Monotonic();
    return absl::OkStatus();
  }

  const std::vector<int>& cpus() const override { return counts_.cpus(); }
  std::vector<int> known_cpus() const override { return counts_.known_cpus(); }

  HardwareReading ReadingOf(int cpu) const override {
    HardwareReading reading{.cpu = cpu, .time = time_};
    for (size_t event = 0; event < events_.all.size(); ++event) {
      const ScaledTotal* const total = counts_.Find(cpu, event);
      if (total != nullptr) AddEvent(events_.all[event], *total, &reading);
    }
    if (reading[HardwareCount::kInstructions]) {
      reading[HardwareCount::kTimestamp] = timestamp_;
    }
    reading.temperature = temperatures_.Of(cpu);
    if (reading.temperature) {
      reading.temperature_headroom =
          temperatures_.Headroom(cpu, *reading.temperature);
    }
    return reading;
  }

  std::vector<CountedEvent> events() const override {
    std::vector<CountedEvent> result;
    for (size_t event = 0; event < events_.all.size(); ++event) {
      const auto missing = counts_.missing().find(event);
      result.push_back({.count = events_.all[event].count,
                        .event = events_.all[event].name,
                        .status = missing == counts_.missing().end()
                                      ? absl::OkStatus()
                                      : missing->second});
    }
    return result;
  }

  uint64_t timestamp_hertz() const override {
    if (!timestamp_hertz_) timestamp_hertz_ = TimestampHertz(system_);
    return *timestamp_hertz_;
  }
  std::string origin() const override { return "perf_event"; }

 private:
  static void AddEvent(const CountedPmuEvent& counted, const ScaledTotal& total,
                       HardwareReading* reading) {
    AddTo(total.time_enabled(), &(*reading)[HardwareCount::kTimeEnabled]);
    AddTo(total.time_running(), &(*reading)[HardwareCount::kTimeRunning]);
    if (!total.is_known()) return;
    // Some virtual machines have an energy counter that is always 0.
    if (counted.factor != 1 && total.total() == 0) return;
    AddTo(counted.factor == 1
              ? total.total()
              : static_cast<uint64_t>(static_cast<long double>(total.total()) *
                                      static_cast<long double>(counted.factor)),
          &(*reading)[counted.count]);
  }

  perf_event::System& system_;
  const Clock& clock_;
  const Events events_;
  perf_event::CpuCounts counts_;
  const CoreTemperatures temperatures_;
  uint64_t timestamp_ = 0;
  absl::Duration time_;
  mutable std::optional<uint64_t> timestamp_hertz_;  // once asked for
};

}  // namespace

absl::Status CheckPmu(perf_event::System& system) {
  return perf_event::Builder(
             perf_event::Hardware(perf_event::HardwareEvent::kInstructions),
             system)
      .AnyProcess()
      .OneCpu(0)
      .IncludeKernel()
      .IncludeHypervisor()
      .Build()
      .status();
}

std::unique_ptr<HardwareReader> MakePerfEventReader(perf_event::System& system,
                                                    size_t max_descriptors,
                                                    const Clock& clock) {
  return std::make_unique<PerfEventReader>(system, max_descriptors, clock);
}

}  // namespace fleetperf::hardware
