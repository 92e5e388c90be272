// The kernel's opinion of the clock that NTP keeps.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_SYSTEM_CLOCK_DISCIPLINE_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_SYSTEM_CLOCK_DISCIPLINE_H_

#include <cstdint>
#include <optional>

namespace fleetperf::agent {

struct ClockDiscipline {
  bool is_synchronized = false;
  // The absolute value of the offset that is being corrected.
  uint64_t offset_us = 0;
  uint64_t estimated_error_us = 0;
  uint64_t maximum_error_us = 0;
};

// Asks adjtimex(2), which changes nothing. std::nullopt if that is forbidden,
// as in many containers.
std::optional<ClockDiscipline> ReadClockDiscipline();

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_SYSTEM_CLOCK_DISCIPLINE_H_
