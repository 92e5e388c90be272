// Time since the machine started, unaffected by clock changes.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_UPTIME_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_UPTIME_H_

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"
#include "agent/source/linux/text.h"
#include "agent/source/linux/units.h"

namespace fleetperf::agent {

// The first number of /proc/uptime, "352.64", in units of 100 ns. std::nullopt
// if there is none, or if it is 0: a sandbox does not count.
inline std::optional<uint64_t> Uptime100NSec(absl::string_view text) {
  const std::optional<uint64_t> hundredths = NextHundredths(&text);
  if (hundredths.value_or(0) == 0) return std::nullopt;
  return Times(hundredths, k100NSecPerSecond / 100);
}

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_UPTIME_H_
