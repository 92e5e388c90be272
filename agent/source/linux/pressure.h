// The files of pressure stall information, as in /proc/pressure and in cgroups.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_PRESSURE_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_PRESSURE_H_

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"
#include "agent/source/linux/text.h"
#include "agent/source/linux/units.h"

namespace fleetperf::agent {

// The times in which some, or all, tasks that were not idle waited, in units of
// 100 ns.
struct StallTimes {
  std::optional<uint64_t> some;
  std::optional<uint64_t> full;
};

// Parses "some avg10=0.00 avg60=0.00 avg300=0.00 total=123" and the same for
// "full", which not every kernel and resource has.
inline StallTimes ParsePressure(absl::string_view text) {
  constexpr absl::string_view kTotal = "total=";
  StallTimes times;
  absl::string_view line;
  while (NextLine(&text, &line)) {
    const absl::string_view kind = NextWord(&line);
    const size_t total = line.find(kTotal);
    if (total == absl::string_view::npos) continue;
    line.remove_prefix(total + kTotal.size());
    const std::optional<uint64_t> microseconds = NextNumber(&line);
    if (!microseconds.has_value()) continue;
    if (kind == "some") times.some = *microseconds * k100NSecPerMicrosecond;
    if (kind == "full") times.full = *microseconds * k100NSecPerMicrosecond;
  }
  return times;
}

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_PRESSURE_H_
