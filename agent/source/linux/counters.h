// Shared definitions of the Linux countersets' tables.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_COUNTERS_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_COUNTERS_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "perflib/counter_type.h"
#include "perflib/registration.h"

namespace fleetperf::agent {

using perflib::CounterSpec;

// Counter ids that exist only on Linux start here, above the Windows ids.
inline constexpr uint32_t kFirstLinuxCounterId = 1000;

// A counter with its documentation, which docs/reference/linux-counters.md
// repeats. Texts are Markdown.
struct LinuxCounter {
  CounterSpec spec;
  // Of the displayed value: "bytes/s", "%".
  absl::string_view unit;
  // Files and fields: "/proc/meminfo MemAvailable".
  absl::string_view source;
  // Differences from the counter of Windows, and other surprises.
  absl::string_view remarks = {};
};

// When the present life of an instance began, for countersets whose instances
// can become something else under the same name and id. agent/collect ends the
// life of an instance if this value changes, as that of a process whose start
// changes. It is collected with all counters and not sent.
inline constexpr uint32_t kLifeStartId = 1999;
inline constexpr LinuxCounter kLifeStartCounter = {
    {kLifeStartId, perflib::kPerfElapsedTime, "", ""}, "", ""};

struct LinuxCounterset {
  // Windows' own if it is published, else a UUID of version 5 of the name in
  // the namespace 508393bc-f578-58b5-a25e-96369ee5e498.
  absl::string_view guid;
  absl::string_view name;
  absl::string_view help;
  uint32_t instance_type;
  // The names of its instances: "mount points, `_Total`".
  absl::string_view instances;
  // The position of a counter is its column.
  absl::Span<const LinuxCounter> counters;
  // The counters of Windows that have no source in Linux, where the list is
  // complete: "7 DPC Rate".
  absl::string_view absent = {};
};

perflib::CountersetRegistration MakeRegistration(
    const LinuxCounterset& counterset);

inline perflib::CountersetRegistration MakeRegistration(
    absl::string_view guid, absl::string_view name, absl::string_view help,
    uint32_t instance_type, absl::Span<const CounterSpec> counters) {
  return perflib::MakeRegistration(guid, name, help, "fleetperf Linux provider",
                                   instance_type, counters);
}

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_COUNTERS_H_
