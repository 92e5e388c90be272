#include "driver/hardware/linux/perf_event_reader.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/scaled_count.h"
#include "base/status_macros.h"
#include "driver/hardware/linux/cache_monitoring.h"
#include "driver/hardware/linux/core_temperatures.h"
#include "driver/hardware/linux/cpu_topology.h"
#include "driver/hardware/linux/event_names.h"
#include "driver/hardware/linux/timestamp_frequency.h"
#include "driver/hardware/linux/uncore_frequency.h"
#include "driver/perf_event/builder.h"
#include "driver/perf_event/cpu_counts.h"
#include "driver/perf_event/event.h"
#include "driver/perf_event/event_parser.h"

namespace fleetperf::hardware {
namespace {

using perf_event::ScaledTotal;

constexpr double kMicrojoulesPerJoule = 1e6;
constexpr double kBytesPerMib = 1 << 20;

// How many of a count an event's unit is; 0: the event has no unit.
double PerUnit(HardwareCount count) {
  switch (count) {
    case HardwareCount::kPackageMicrojoules:
    case HardwareCount::kMemoryMicrojoules:
      return kMicrojoulesPerJoule;
    case HardwareCount::kMemoryReadBytes:
    case HardwareCount::kMemoryWriteBytes:
      return kBytesPerMib;
    default:
      return 0;
  }
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
  // CPUs that count the third-level cache for all that share it.
  std::set<int> l3_cpus;
};

// An event that several PMUs count (memory controllers, hybrid CPUs) is opened
// on each of them, in a group of its own.
Events FindEvents(perf_event::System& system) {
  Events events;
  std::set<HardwareCount> found_counts;
  for (const std::vector<NamedCount>& named : NamedGroups(system)) {
    std::vector<std::vector<perf_event::Event>> groups;
    std::vector<CountedPmuEvent> counted;
    for (const NamedCount& one : named) {
      if (one.kind == Origin::Kind::kPerf && found_counts.contains(one.count)) {
        continue;
      }
      auto found = perf_event::ParseEvents(one.event, system);
      if (!found.ok()) continue;
      found_counts.insert(one.count);
      const double per_unit = PerUnit(one.count);
      if (groups.empty()) groups.resize(found->size());
      for (size_t i = 0; i < std::min(found->size(), groups.size()); ++i) {
        perf_event::Event& event = (*found)[i];
        if (one.kind == Origin::Kind::kL3Event) {
          events.l3_cpus.insert(event.cpus.begin(), event.cpus.end());
        }
        counted.push_back({.count = one.count,
                           .group = i,
                           .factor = per_unit == 0 ? 1 : event.scale * per_unit,
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
        temperatures_(system),
        packages_(system),
        uncore_(system),
        caches_(system) {}

  absl::Status Update() override {
    RETURN_IF_ERROR(counts_.Update());
    FindL3Sharing();
    timestamp_ = system_.ReadTimestampCounter();
    time_ = clock_.Monotonic();
    packages_.Update(counts_.cpus());
    caches_.Update(counts_.cpus());
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
    if (reading[HardwareCount::kL3Misses]) {
      reading[HardwareCount::kL3Instructions] = L3Instructions(cpu, reading);
    }
    reading.temperature = temperatures_.Of(cpu);
    if (reading.temperature) {
      reading.temperature_headroom =
          temperatures_.Headroom(cpu, *reading.temperature);
    }
    reading.package = packages_.Of(cpu);
    if (packages_.IsFirst(cpu))
      reading.uncore_hertz = uncore_.Of(*reading.package);
    caches_.AddTo(&reading);
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
    AddTo(counted.factor == 1 ? total.total()
                              : ScaledCount(total.total(), counted.factor),
          &(*reading)[counted.count]);
  }

  // CPUs that went offline are kept, as their counts are.
  void FindL3Sharing() {
    if (counts_.cpus() == l3_sharing_of_) return;
    l3_sharing_of_ = counts_.cpus();
    for (const int cpu : events_.l3_cpus) {
      const std::vector<int> sharing = CpusOfL3(system_, cpu);
      l3_sharing_[cpu].insert(sharing.begin(), sharing.end());
    }
  }

  std::optional<uint64_t> L3Instructions(int cpu,
                                         const HardwareReading& own) const {
    if (!events_.l3_cpus.contains(cpu))
      return own[HardwareCount::kInstructions];
    const auto sharing = l3_sharing_.find(cpu);
    if (sharing == l3_sharing_.end()) return std::nullopt;
    std::optional<uint64_t> sum;
    for (const int other : sharing->second) {
      for (size_t event = 0; event < events_.all.size(); ++event) {
        if (events_.all[event].count != HardwareCount::kInstructions) continue;
        const ScaledTotal* const total = counts_.Find(other, event);
        if (total != nullptr && total->is_known()) AddTo(total->total(), &sum);
      }
    }
    return sum;
  }

  perf_event::System& system_;
  const Clock& clock_;
  const Events events_;
  perf_event::CpuCounts counts_;
  const CoreTemperatures temperatures_;
  CpuPackages packages_;
  const UncoreFrequency uncore_;
  CacheMonitoring caches_;
  std::map<int, std::set<int>> l3_sharing_;  // by the CPU that counts
  std::vector<int> l3_sharing_of_;           // the online CPUs at that time
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
