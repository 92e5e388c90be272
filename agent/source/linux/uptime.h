// Time since the machine started, unaffected by clock changes.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_UPTIME_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_UPTIME_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "agent/source/linux/text.h"
#include "agent/source/linux/units.h"

namespace fleetperf::agent {

// The first number of /proc/uptime, "352.64", in units of 100 ns.
inline uint64_t Uptime100NSec(absl::string_view text) {
  const uint64_t seconds = NumberOrZero(&text);
  uint64_t hundredths = 0;
  if (!text.empty() && text.front() == '.') {
    text.remove_prefix(1);
    hundredths = NumberOrZero(&text);
  }
  return seconds * k100NSecPerSecond + hundredths * (k100NSecPerSecond / 100);
}

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_UPTIME_H_
