#include <time.h>

#include "base/os/clock.h"

namespace fleetperf {
namespace {

absl::Duration Read(clockid_t id) {
  timespec value;
  clock_gettime(id, &value);
  return absl::DurationFromTimespec(value);
}

class RealClock : public Clock {
 public:
  absl::Time Now() const override {
    return absl::UnixEpoch() + Read(CLOCK_REALTIME);
  }
  absl::Duration Monotonic() const override {
    return Read(CLOCK_MONOTONIC_RAW);
  }
};

}  // namespace

const Clock& Clock::Real() {
  static const RealClock clock;
  return clock;
}

}  // namespace fleetperf
