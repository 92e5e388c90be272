#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "agent/source/linux/capabilities.h"
#include "agent/source/missing.h"
#include "base/os/files.h"
#include "driver/hardware/linux/perf_event_reader.h"
#include "driver/perf_event/system.h"
#include "perflib/path.h"

namespace fleetperf::agent {

// Every Linux has all countersets of the Linux source, except those of a PMU.
absl::Span<const WellKnownCounterset> WellKnownCountersets() {
  static const auto* const kWhy =
      new std::string(hardware::CheckPmu(perf_event::LinuxSystem()).message());
  static const WellKnownCounterset kCountersets[] = {
      {"Hardware Counters", *kWhy}};
  return kCountersets;
}

std::string MissingRights(absl::string_view counterset) {
  constexpr char kMeter[] = "/sys/class/powercap/intel-rapl:0/energy_uj";
  if (perflib::Pattern(counterset).Matches("Energy Meter") &&
      absl::IsPermissionDenied(ReadFile(kMeter).status())) {
    return "all meters are absent, because only root may read them, or a "
           "process with CAP_DAC_READ_SEARCH; grant it (setcap "
           "cap_dac_read_search+ep PROGRAM)";
  }
  std::string missing =
      MissingRightsIn(ReadFile("/proc/self/status").value_or(""),
                      ReadFile("/proc/1/stat").ok(), counterset);
  return missing.empty()
             ? MissingEventRights(perf_event::LinuxSystem(), counterset)
             : missing;
}

}  // namespace fleetperf::agent
