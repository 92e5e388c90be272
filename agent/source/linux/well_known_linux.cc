#include <string>

#include "agent/source/well_known.h"
#include "driver/hardware/linux/perf_event_reader.h"
#include "driver/perf_event/system.h"

namespace fleetperf::agent {

// Every Linux has all countersets of the Linux source, except those of a PMU.
absl::Span<const WellKnownCounterset> WellKnownCountersets() {
  static const auto* const kWhy =
      new std::string(hardware::CheckPmu(perf_event::LinuxSystem()).message());
  static const WellKnownCounterset kCountersets[] = {
      {"Hardware Counters", *kWhy}};
  return kCountersets;
}

}  // namespace fleetperf::agent
