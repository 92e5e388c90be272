// Shared definitions of the Linux countersets' tables.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_COUNTERS_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_COUNTERS_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "perflib/counter_spec.h"

namespace fleetperf::agent {

using perflib::CounterSpec;

// Counter ids that exist only on Linux start here, above the Windows ids.
inline constexpr uint32_t kFirstLinuxCounterId = 1000;

inline perflib::CountersetRegistration MakeRegistration(
    absl::string_view guid, absl::string_view name, absl::string_view help,
    uint32_t instance_type, absl::Span<const CounterSpec> counters) {
  return perflib::MakeRegistration(guid, name, help, "fleetperf Linux provider",
                                   instance_type, counters);
}

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_COUNTERS_H_
