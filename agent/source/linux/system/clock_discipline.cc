#include "agent/source/linux/system/clock_discipline.h"

#include <sys/timex.h>

#include <algorithm>
#include <cstdlib>

namespace fleetperf::agent {

std::optional<ClockDiscipline> ReadClockDiscipline() {
  timex state = {};
  const int result = adjtimex(&state);
  if (result < 0) return std::nullopt;
  const auto microseconds = [](long value) {
    return static_cast<uint64_t>(std::max(value, 0L));
  };
  // STA_NANO changes the unit of the offset only.
  const long offset = std::labs(state.offset);
  const long per_microsecond = (state.status & STA_NANO) != 0 ? 1000 : 1;
  return ClockDiscipline{.is_synchronized = result != TIME_ERROR &&
                                            (state.status & STA_UNSYNC) == 0,
                         .offset_us = microseconds(offset / per_microsecond),
                         .estimated_error_us = microseconds(state.esterror),
                         .maximum_error_us = microseconds(state.maxerror)};
}

}  // namespace fleetperf::agent
