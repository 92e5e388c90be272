#include "driver/hardware/linux/model_events.h"

#include "driver/events/cpuinfo.h"
#include "driver/events/events.h"

namespace fleetperf::hardware {
namespace {

constexpr char kPmu[] = "cpu";

}  // namespace

std::optional<L2Events> FindL2Events(perf_event::System& system) {
  const auto text = system.ReadFile("/proc/cpuinfo");
  if (!text.ok()) return std::nullopt;
  L2Events found;
  for (const events::Event& event :
       events::EventsOfModel(events::CoreOfCpuinfo(*text))) {
    if (event.counted == events::Counted::kL2Hits) {
      found.hits = events::PerfName(event, kPmu);
    } else if (event.counted == events::Counted::kL2Misses) {
      found.misses = events::PerfName(event, kPmu);
    }
  }
  if (found.hits.empty() || found.misses.empty()) return std::nullopt;
  return found;
}

}  // namespace fleetperf::hardware
