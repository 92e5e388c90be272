#include "agent/source/linux/processor/linux_perf.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "agent/source/cpu_instances.h"
#include "agent/source/linux/counters.h"
#include "base/scaled_count.h"
#include "base/sha256.h"
#include "base/status_macros.h"
#include "driver/perf_event/builder.h"
#include "driver/perf_event/event_parser.h"
#include "perflib/counter_type.h"
#include "perflib/layout.h"
#include "perflib/path.h"
#include "perflib/utf16.h"

namespace fleetperf::agent {
namespace {

using namespace perflib;  // the counter types
using perf_event::CpuCounts;
using perf_event::Event;
using perf_event::ScaledTotal;

constexpr char kName[] = "Linux Perf";

// The share of time in which the events of a row were on the PMU.
enum Column : size_t { kTimeCounted, kTimeCountedBase, kFirstEvent };
constexpr uint32_t kTimeCountedBaseId = kFirstLinuxCounterId + 100;
constexpr CounterSpec kCounters[] = {
    {kFirstLinuxCounterId, kPerfSampleFraction, "% Time Counted",
     "The share of time in which the events of this counterset were counted. "
     "Below 100 % they take turns on too few hardware counters, and their "
     "counts are scaled up.",
     kTimeCountedBaseId},
    {kTimeCountedBaseId, kPerfSampleBase, "", ""},
};
static_assert(std::size(kCounters) == kFirstEvent);

// All software events that count, and cost nothing while they do not occur.
constexpr absl::string_view kSoftwareEvents[] = {
    "context-switches", "cpu-migrations",  "page-faults",
    "minor-faults",     "major-faults",    "alignment-faults",
    "emulation-faults", "cgroup-switches",
};

constexpr size_t kMaxColumns = 64;  // of a ColumnSet

constexpr uint32_t kFirstCgroupInstanceId = 0x40000000;

// Ids above all of Windows and below 2^31.
uint32_t IdOf(absl::string_view canonical) {
  const std::string hash = Sha256(canonical);
  uint32_t id;
  std::memcpy(&id, hash.data(), sizeof(id));
  return (id & 0x3fffffff) | 0x40000000;
}

// Counts with a unit are served in millionths of it.
constexpr int kUnitScale = -6;
bool HasUnit(const Event& event) {
  return !event.unit.empty() || event.scale != 1;
}
uint64_t InUnits(const Event& event, uint64_t count) {
  if (!HasUnit(event)) return count;
  return ScaledCount(count, event.scale * 1e6);
}

CounterRegistration RegistrationOf(const Event& event) {
  CounterRegistration counter;
  counter.counter_id = IdOf(event.name);
  counter.type = kPerfCounterBulkCount;
  counter.name = event.name;
  counter.help = HasUnit(event) ? absl::StrCat("The event ", event.name, " in ",
                                               event.unit, " per second.")
                                : absl::StrCat("Occurrences of the event ",
                                               event.name, " per second.");
  if (HasUnit(event)) {
    counter.default_scale = kUnitScale;
    counter.attrib |= kAttribDisplayAsReal;
  }
  return counter;
}

void SetRow(const std::vector<uint64_t>& values, ColumnSet present,
            CountersetSample* sample) {
  for (size_t column = 0; column < values.size(); ++column) {
    if (Has(present, column)) sample->Set(column, values[column]);
  }
}

}  // namespace

LinuxPerf::LinuxPerf(perf_event::System& system, const std::string& root,
                     size_t max_descriptors)
    : Provider(MakeRegistration(
          "{82736c3e-afab-538b-ab55-fba0195bce30}", kName,
          "Events that the kernel counts (perf_event), by perf's names.",
          kCountersetMultipleInstances | kCountersetAggregate, kCounters)),
      system_(system),
      root_(root),
      max_descriptors_(max_descriptors),
      utf16_total_name_(Utf16FromUtf8(kAggregateInstance)),
      totals_(std::vector<TotalKind>(kMaxColumns, TotalKind::kGrowth),
              NewInstance::kWasCounting) {
  for (const absl::string_view name : kSoftwareEvents)
    Define(name).IgnoreError();
}

absl::StatusOr<size_t> LinuxPerf::Define(absl::string_view text) {
  ASSIGN_OR_RETURN(const std::string canonical,
                   perf_event::CanonicalEventText(text));
  const std::vector<CounterRegistration>& known = registration().counters;
  const uint32_t id = IdOf(canonical);
  for (size_t column = 0; column < known.size(); ++column) {
    if (known[column].name == canonical) return column;
    if (known[column].counter_id == id) {
      return absl::AlreadyExistsError(
          absl::StrCat(canonical, " has the same counter id as ",
                       known[column].name, "; drop one of them"));
    }
  }
  if (known.size() == kMaxColumns) {
    return absl::ResourceExhaustedError(
        absl::StrCat(canonical, ": \"", kName, "\" has ", kMaxColumns,
                     " counters already; restart the agent if plans no longer "
                     "name all of them"));
  }
  ASSIGN_OR_RETURN(std::vector<Event> events,
                   perf_event::ParseEvents(text, system_));
  CountersetRegistration changed = registration();
  changed.counters.push_back(RegistrationOf(events.front()));
  events_.emplace(known.size(), std::move(events));
  Register(std::move(changed));
  return columns() - 1;
}

absl::Status LinuxPerf::Try(size_t column) {
  const Event& event = events_.at(column).front();
  const int cpu = event.cpus.empty() ? 0 : event.cpus.front();
  return perf_event::Builder(event, system_)
      .AnyProcess()
      .OneCpu(cpu)
      .Build()
      .status();
}

// Names with wildcards and ids select among the counters that are defined.
void LinuxPerf::DefineQuery(size_t position, PlannedQuery* query,
                            DefinedCounters* defined, ColumnSet* planned) {
  const auto report = [&](const absl::Status& status) {
    if (status.ok()) return;
    defined->problems.push_back(
        {.query = position, .message = std::string(status.message())});
  };
  std::vector<std::string> names;
  for (const std::string& text : query->counters) {
    names.push_back(text);
    if (Pattern(text).has_wildcards() || absl::StartsWith(text, "id:") ||
        text == kCounters[kTimeCounted].name) {
      continue;
    }
    const absl::StatusOr<size_t> column = Define(text);
    report(column.status());
    if (column.ok()) {
      names.back() = registration().counters[*column].name;
    } else {
      names.pop_back();
    }
  }
  // An empty list would mean all counters.
  if (!names.empty()) query->counters = std::move(names);
  for (const auto& [column, events] : events_) {
    const std::string& name = events.front().name;
    const bool is_named =
        query->counters.empty() ||
        std::any_of(query->counters.begin(), query->counters.end(),
                    [&](const std::string& text) {
                      return Pattern(text).Matches(name) ||
                             text == absl::StrCat("id:", IdOf(name));
                    });
    if (!is_named) continue;
    *planned |= Bit(column);
    const absl::Status status = Try(column);
    report(status);
    // The other events have the same problem.
    if (absl::IsPermissionDenied(status)) return;
  }
}

DefinedCounters LinuxPerf::DefineCounters(std::vector<PlannedQuery>* queries) {
  DefinedCounters defined;
  const size_t before = columns();
  ColumnSet planned = 0;
  std::vector<std::string> cgroups;
  counts_cpus_ = false;
  for (size_t i = 0; i < queries->size(); ++i) {
    PlannedQuery& query = (*queries)[i];
    if (!IsNamedBy(query)) continue;
    DefineQuery(i, &query, &defined, &planned);
    counts_cpus_ = counts_cpus_ || query.instances.empty();
    for (const std::string& instance : query.instances) {
      const bool is_cgroup = absl::StartsWith(instance, "/");
      if (is_cgroup) cgroups.push_back(instance);
      counts_cpus_ = counts_cpus_ || !is_cgroup;
    }
  }
  CloseUnplanned(planned, cgroups);
  if (columns() != before) defined.changed.push_back(registration().guid);
  return defined;
}

void LinuxPerf::CloseUnplanned(ColumnSet planned,
                               const std::vector<std::string>& cgroups) {
  const auto close_events = [&](Target* target) {
    std::erase_if(target->counts, [&](const auto& entry) {
      return !Has(planned, entry.first);
    });
  };
  close_events(&everything_);
  if (!counts_cpus_) everything_.counts.clear();
  std::erase_if(cgroups_, [&](const auto& entry) {
    return std::count(cgroups.begin(), cgroups.end(), entry.first) == 0;
  });
  for (const std::string& path : cgroups) {
    Target& target = cgroups_[path];
    close_events(&target);
    if (target.cgroup != nullptr) continue;
    target.cgroup = std::make_unique<CgroupDirectory>(root_, path);
    target.utf16_name = Utf16FromUtf8(path);
  }
}

void LinuxPerf::Update(ColumnSet needed, Target* target) {
  if (target->cgroup != nullptr && target->cgroup->Update()) {
    target->counts.clear();
  }
  if (target->cgroup != nullptr && target->cgroup->descriptor() < 0) return;
  for (const auto& [column, events] : events_) {
    if (!Has(needed, column)) continue;
    std::vector<std::vector<Event>> groups;
    for (const Event& event : events) groups.push_back({event});
    const auto [counts, is_new] = target->counts.try_emplace(
        column,
        CpuCounts::Options{.system = &system_,
                           .groups = std::move(groups),
                           .max_descriptors = max_descriptors_ / kMaxColumns,
                           .cgroup = target->cgroup == nullptr
                                         ? -1
                                         : target->cgroup->descriptor()});
    // A list of CPUs that cannot be read leaves the last one.
    counts->second.Update().IgnoreError();
  }
}

void LinuxPerf::AddCounts(const Target& target, int cpu, ColumnSet needed,
                          std::vector<uint64_t>* values,
                          ColumnSet* present) const {
  for (const auto& [column, counts] : target.counts) {
    const std::vector<Event>& events = events_.at(column);
    for (size_t i = 0; i < events.size(); ++i) {
      const ScaledTotal* const total = counts.Find(cpu, i);
      if (total == nullptr) continue;
      *present |= Bit(kTimeCounted) | Bit(kTimeCountedBase);
      (*values)[kTimeCounted] += total->time_running();
      (*values)[kTimeCountedBase] += total->time_enabled();
      if (!total->is_known() || !Has(needed, column)) continue;
      *present |= Bit(column);
      (*values)[column] += InUnits(events[i], total->total());
    }
  }
}

void LinuxPerf::AddCpus(const Target& target, ColumnSet needed,
                        CountersetSample* sample) {
  if (target.counts.empty()) return;
  totals_.Begin();
  for (const int cpu : target.counts.begin()->second.cpus()) {
    std::vector<uint64_t> values(kMaxColumns);
    ColumnSet present = 0;
    AddCounts(target, cpu, needed, &values, &present);
    sample->AddInstance(Utf16FromUtf8(absl::StrCat(cpu)),
                        static_cast<uint32_t>(cpu));
    SetRow(values, present, sample);
    totals_.Add(cpu, values, present);
  }
  sample->AddInstance(utf16_total_name_, kTotalInstanceId);
  totals_.Finish(sample);
}

void LinuxPerf::AddCgroup(const Target& target, ColumnSet needed,
                          CountersetSample* sample) {
  if (target.cgroup->descriptor() < 0 || target.counts.empty()) return;
  std::vector<uint64_t> values(kMaxColumns);
  ColumnSet present = 0;
  // CPUs that went offline keep their counts, so that the sum never falls.
  for (const int cpu : target.counts.begin()->second.known_cpus()) {
    AddCounts(target, cpu, needed, &values, &present);
  }
  const auto id = static_cast<uint32_t>(target.cgroup->id() & 0x3fffffff);
  sample->AddInstance(target.utf16_name, kFirstCgroupInstanceId | id);
  SetRow(values, present, sample);
}

absl::Status LinuxPerf::Sample(ColumnSet needed, const Clocks&,
                               CountersetSample* sample) {
  if (counts_cpus_) {
    Update(needed, &everything_);
    AddCpus(everything_, needed, sample);
  }
  for (auto& [path, target] : cgroups_) {
    Update(needed, &target);
    AddCgroup(target, needed, sample);
  }
  return absl::OkStatus();
}

}  // namespace fleetperf::agent
