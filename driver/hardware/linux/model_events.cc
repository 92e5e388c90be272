#include "driver/hardware/linux/model_events.h"

#include <cstdint>

#include "driver/events/cpuinfo.h"
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

L2Events EventsOn(const char* pmu, const events::Core& core) {
  L2Events found;
  for (const events::Event& event : events::EventsOfModel(core)) {
    if (event.counted == events::Counted::kL2Hits) {
      found.hits = events::PerfName(event, pmu);
    } else if (event.counted == events::Counted::kL2Misses) {
      found.misses = events::PerfName(event, pmu);
    }
  }
  return found;
}

}  // namespace

std::vector<L2Events> FindL2Events(perf_event::System& system) {
  const auto text = system.ReadFile("/proc/cpuinfo");
  if (!text.ok()) return {};
  std::vector<L2Events> all;
  events::Core core = events::CoreOfCpuinfo(*text);
  for (const CorePmu& pmu : kCorePmus) {
    core.core_type = pmu.core_type;
    const L2Events found = EventsOn(pmu.name, core);
    if (!found.hits.empty() && !found.misses.empty()) all.push_back(found);
  }
  return all;
}

}  // namespace fleetperf::hardware
