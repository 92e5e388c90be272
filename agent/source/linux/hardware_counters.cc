#include "agent/source/linux/hardware_counters.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/source/linux/model_events.h"
#include "base/status_macros.h"
#include "driver/perf_event/builder.h"
#include "driver/perf_event/event_parser.h"
#include "perflib/path.h"
#include "perflib/utf16.h"

namespace fleetperf::agent {
namespace {

using perf_event::Event;
using perf_event::ScaledTotal;
using perflib::Clocks;

constexpr uint32_t kTotalInstanceId = 0x20000;
constexpr double kMicrojoules = 1e6;
constexpr double kBytesPerMib = 1 << 20;

struct NamedCount {
  HardwareCount count;
  const char* event;  // as perf names it
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
      {{kPackageMicrojoules, "power/energy-pkg/", kMicrojoules}},
      {{kMemoryMicrojoules, "power/energy-ram/", kMicrojoules}},
      {{kMemoryReadBytes, "uncore_imc/cas_count_read/", kBytesPerMib}},
      {{kMemoryWriteBytes, "uncore_imc/cas_count_write/", kBytesPerMib}},
      {{kMemoryReadBytes, "uncore_imc_free_running/data_read/", kBytesPerMib}},
      {{kMemoryWriteBytes, "uncore_imc_free_running/data_write/",
        kBytesPerMib}},
  };
  if (const auto l2 = FindL2Events(system)) {
    counts.push_back({{kL2Hits, l2->hits}, {kL2Misses, l2->misses}});
  }
  return counts;
}

std::vector<TotalKind> TotalKinds() {
  std::vector<TotalKind> kinds(HardwareRegistration().counters.size(),
                               TotalKind::kGrowth);
  for (size_t column = 0; column < kinds.size(); ++column) {
    if (IsHardwareGauge(column)) kinds[column] = TotalKind::kMean;
  }
  return kinds;
}

void AddTo(uint64_t value, std::optional<uint64_t>* sum) {
  *sum = sum->value_or(0) + value;
}

}  // namespace

absl::Status CheckHardwarePmu(perf_event::System& system) {
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

// An event that several PMUs count (memory controllers, hybrid CPUs) is opened
// on each of them, in a group of its own.
HardwareCounters::Events HardwareCounters::FindEvents(
    perf_event::System& system) {
  Events events;
  for (const std::vector<NamedCount>& named : NamedCounts(system)) {
    std::vector<std::vector<Event>> groups;
    std::vector<Counted> counted;
    for (const NamedCount& one : named) {
      auto found = perf_event::ParseEvents(one.event, system);
      if (!found.ok()) continue;
      if (groups.empty()) groups.resize(found->size());
      for (size_t i = 0; i < std::min(found->size(), groups.size()); ++i) {
        Event& event = (*found)[i];
        counted.push_back(
            {.count = one.count,
             .group = i,
             .factor = one.per_unit == 0 ? 1 : event.scale * one.per_unit});
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

HardwareCounters::HardwareCounters(perf_event::System& system,
                                   size_t max_descriptors)
    : Provider(HardwareRegistration()),
      system_(system),
      events_(FindEvents(system)),
      counts_({.system = &system,
               .groups = events_.groups,
               .max_descriptors = max_descriptors}),
      temperatures_(system),
      totals_(TotalKinds(), NewInstance::kWasCounting),
      utf16_total_name_(perflib::Utf16FromUtf8(perflib::kAggregateInstance)) {}

HardwareReading HardwareCounters::ReadingOf(int cpu) const {
  HardwareReading reading;
  for (size_t event = 0; event < events_.all.size(); ++event) {
    const ScaledTotal* const total = counts_.Find(cpu, event);
    if (total == nullptr) continue;
    const Counted& counted = events_.all[event];
    AddTo(total->time_enabled(), &reading[HardwareCount::kTimeEnabled]);
    AddTo(total->time_running(), &reading[HardwareCount::kTimeRunning]);
    if (!total->is_known()) continue;
    // Some virtual machines have an energy counter that is always 0.
    if (counted.factor != 1 && total->total() == 0) continue;
    AddTo(counted.factor == 1
              ? total->total()
              : static_cast<uint64_t>(static_cast<long double>(total->total()) *
                                      static_cast<long double>(counted.factor)),
          &reading[counted.count]);
  }
  if (reading[HardwareCount::kInstructions]) {
    reading[HardwareCount::kTimestamp] = timestamp_;
  }
  reading.temperature = temperatures_.Of(cpu);
  return reading;
}

absl::Status HardwareCounters::Sample(ColumnSet, const Clocks& clocks,
                                      CountersetSample* sample) {
  RETURN_IF_ERROR(counts_.Update());
  timestamp_ = system_.ReadTimestampCounter();
  totals_.Begin();
  for (const int cpu : counts_.cpus()) {
    sample->AddInstance(perflib::Utf16FromUtf8(absl::StrCat(cpu)),
                        static_cast<uint32_t>(cpu));
    columns_[cpu].Set(ReadingOf(cpu),
                      static_cast<uint64_t>(clocks.perf_time_stamp), sample);
    const size_t row = sample->rows() - 1;
    totals_.Add(cpu, sample->Row(row), sample->Present(row));
  }
  sample->AddInstance(utf16_total_name_, kTotalInstanceId);
  totals_.Finish(sample);
  return absl::OkStatus();
}

}  // namespace fleetperf::agent
