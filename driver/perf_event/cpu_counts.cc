#include "driver/perf_event/cpu_counts.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "driver/perf_event/builder.h"
#include "driver/perf_event/pmu.h"

namespace fleetperf::perf_event {
namespace {

constexpr char kOnline[] = "/sys/devices/system/cpu/online";

bool CountsOn(const Event& event, int cpu) {
  return event.cpus.empty() || std::find(event.cpus.begin(), event.cpus.end(),
                                         cpu) != event.cpus.end();
}

}  // namespace

CpuCounts::CpuCounts(Options options) : options_(std::move(options)) {
  size_t next = 0;
  for (const std::vector<Event>& group : options_.groups) {
    first_event_.push_back(next);
    next += group.size();
  }
}

absl::Status CpuCounts::Update() {
  RETURN_IF_ERROR(FindOnline());
  OpenMissing();
  for (const int number : online_) ReadAll(&cpus_[number]);
  return absl::OkStatus();
}

absl::Status CpuCounts::FindOnline() {
  ASSIGN_OR_RETURN(const std::string text, options_.system->ReadFile(kOnline));
  ASSIGN_OR_RETURN(std::vector<int> online, ParseCpuList(text));
  if (online == online_) return absl::OkStatus();
  online_ = std::move(online);
  for (auto& [number, cpu] : cpus_) {
    if (!std::binary_search(online_.begin(), online_.end(), number)) {
      cpu.groups.clear();
    }
  }
  LimitGroups();
  return absl::OkStatus();
}

// A group is counted on all CPUs or not at all, so that totals are complete.
void CpuCounts::LimitGroups() {
  size_t needed = 0;
  for (size_t group = 0; group < options_.groups.size(); ++group) {
    needed += options_.groups[group].size() * online_.size();
    if (needed <= options_.max_descriptors) continue;
    Drop(group,
         absl::ResourceExhaustedError(absl::StrCat(
             options_.groups[group].front().name, ": counting needs ", needed,
             " descriptors (events times ", online_.size(),
             " CPUs), more than the ", options_.max_descriptors,
             " that the limit allows; raise RLIMIT_NOFILE (LimitNOFILE= of a "
             "systemd unit), or count fewer events")));
  }
}

// Important groups get their descriptors on all CPUs before the next group.
void CpuCounts::OpenMissing() {
  for (size_t group = 0; group < options_.groups.size(); ++group) {
    for (const int number : online_) {
      Cpu& cpu = cpus_[number];
      if (!cpu.groups.contains(group)) Open(number, group, &cpu);
    }
  }
}

// The first event that the CPU has leads. An event that only other CPUs have
// is skipped: CPUs of one machine differ, or this one just goes offline.
void CpuCounts::Open(int number, size_t group, Cpu* cpu) {
  std::optional<OpenGroup> open;
  for (size_t i = 0; i < options_.groups[group].size(); ++i) {
    const Event& event = options_.groups[group][i];
    const size_t event_number = first_event_[group] + i;
    if (missing_.contains(event_number) || !CountsOn(event, number)) continue;
    Builder builder(event, *options_.system);
    builder.OneCpu(number);
    if (options_.cgroup < 0) {
      builder.AnyProcess();
    } else {
      builder.ObserveCgroup(options_.cgroup);
    }
    absl::Status status;
    if (!open) {
      absl::StatusOr<Group> opened = Group::Create(std::move(builder));
      status = opened.status();
      if (opened.ok()) open.emplace(OpenGroup{.group = *std::move(opened)});
    } else {
      status = open->group.Add(std::move(builder)).status();
    }
    if (status.ok()) {
      open->events.push_back(event_number);
    } else if (absl::IsResourceExhausted(status)) {
      return Drop(group, status);
    } else if (!IsOpenAnywhere(event_number)) {
      missing_.emplace(event_number, status);
    }
  }
  if (!open || !open->group.Enable().ok()) return;
  cpu->groups.emplace(group, *std::move(open));
}

bool CpuCounts::IsOpenAnywhere(size_t event) const {
  for (const auto& [number, cpu] : cpus_) {
    for (const auto& [group, open] : cpu.groups) {
      if (std::count(open.events.begin(), open.events.end(), event) > 0) {
        return true;
      }
    }
  }
  return false;
}

void CpuCounts::Drop(size_t group, const absl::Status& reason) {
  for (size_t i = 0; i < options_.groups[group].size(); ++i) {
    missing_.emplace(first_event_[group] + i, reason);
  }
  for (auto& [number, cpu] : cpus_) cpu.groups.erase(group);
}

// A group that cannot be read is closed, and opened again by the next Update.
void CpuCounts::ReadAll(Cpu* cpu) {
  for (auto open = cpu->groups.begin(); open != cpu->groups.end();) {
    if (Read(&open->second, cpu)) {
      ++open;
    } else {
      open = cpu->groups.erase(open);
    }
  }
}

// Events of a CPU that was offline between two readings stay stopped: the time
// for which they are enabled no longer advances. On a busy virtual machine
// (Linux 6.18), the time of events sometimes stays 0, and they count nothing.
// The time of a cgroup's events advances only while its processes run.
bool CpuCounts::Read(OpenGroup* open, Cpu* cpu) {
  if (!open->group.Read(&values_).ok()) return false;
  const uint64_t enabled = values_.time_enabled().value_or(0);
  const uint64_t running = values_.time_running().value_or(0);
  if (options_.cgroup < 0 && enabled == open->last_enabled) return false;
  open->last_enabled = enabled;
  for (size_t i = 0; i < open->events.size(); ++i) {
    cpu->totals[open->events[i]].Add(values_.entries()[i].value, enabled,
                                     running);
  }
  return true;
}

std::vector<int> CpuCounts::known_cpus() const {
  std::vector<int> known;
  for (const auto& [number, cpu] : cpus_) known.push_back(number);
  return known;
}

const ScaledTotal* CpuCounts::Find(int number, size_t event) const {
  const auto cpu = cpus_.find(number);
  if (cpu == cpus_.end()) return nullptr;
  const auto total = cpu->second.totals.find(event);
  if (total == cpu->second.totals.end()) return nullptr;
  return missing_.contains(event) ? nullptr : &total->second;
}

size_t CpuCounts::open_descriptors() const {
  size_t count = 0;
  for (const auto& [number, cpu] : cpus_) {
    for (const auto& [group, open] : cpu.groups) count += open.group.size();
  }
  return count;
}

}  // namespace fleetperf::perf_event
