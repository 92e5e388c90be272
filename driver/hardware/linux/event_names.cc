#include "driver/hardware/linux/event_names.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "driver/events/core_model.h"
#include "driver/events/events.h"

namespace fleetperf::hardware {
namespace {

struct CorePmu {
  const char* name;
  uint32_t core_type;
};
constexpr CorePmu kCorePmus[] = {{"cpu", 0},
                                 {"cpu_core", events::kBigCore},
                                 {"cpu_atom", events::kAtomCore}};
constexpr char kL3Pmu[] = "amd_l3";

// The vendor's platform; nothing for vendors of which only generic events are
// counted.
std::optional<Platform> PlatformOf(pmu::Vendor vendor) {
  switch (vendor) {
    case pmu::Vendor::kIntel:
      return Platform::kIntelLinux;
    case pmu::Vendor::kAmd:
      return Platform::kAmdLinux;
    case pmu::Vendor::kOther:
      break;
  }
  return std::nullopt;
}

std::vector<NamedCount> PerfNames(const CountGroup& group, Platform platform) {
  std::vector<NamedCount> names;
  for (const CountFact& fact : group.facts) {
    const Origin& origin = fact.On(platform);
    if (origin.kind != Origin::Kind::kPerf) continue;
    names.push_back(
        {.count = fact.count, .event = origin.name, .kind = origin.kind});
  }
  return names;
}

// The group's events among those of a PMU.
std::vector<NamedCount> ModelNames(const CountGroup& group, Platform platform,
                                   Origin::Kind kind, const char* pmu,
                                   std::span<const events::Event> events) {
  std::vector<NamedCount> names;
  for (const CountFact& fact : group.facts) {
    if (fact.On(platform).kind != kind) continue;
    const auto event = std::find_if(
        events.begin(), events.end(),
        [&](const events::Event& e) { return e.counted == fact.counted; });
    if (event != events.end()) {
      names.push_back({.count = fact.count,
                       .event = events::PerfName(event->code, pmu),
                       .kind = kind});
    }
  }
  if (group.is_all_or_none && names.size() < group.facts.size()) return {};
  return names;
}

}  // namespace

std::vector<std::vector<NamedCount>> NamedGroups(perf_event::System& system) {
  events::Core core;
  if (const auto text = system.ReadFile("/proc/cpuinfo"); text.ok()) {
    core = events::CoreOfCpuinfo(*text);
  }
  const std::optional<Platform> known = PlatformOf(core.vendor);
  const Platform platform = known.value_or(Platform::kIntelLinux);
  std::vector<std::vector<NamedCount>> groups;
  const auto append = [&](std::vector<NamedCount> names) {
    if (!names.empty()) groups.push_back(std::move(names));
  };
  for (const CountGroup& group : CountGroups()) {
    if (!known && !group.is_generic) continue;
    append(PerfNames(group, platform));
    for (const CorePmu& pmu : kCorePmus) {
      core.core_type = pmu.core_type;
      append(ModelNames(group, platform, Origin::Kind::kCoreEvent, pmu.name,
                        events::EventsOfModel(core)));
    }
    core.core_type = 0;
    append(ModelNames(group, platform, Origin::Kind::kL3Event, kL3Pmu,
                      events::L3EventsOfModel(core)));
  }
  return groups;
}

}  // namespace fleetperf::hardware
