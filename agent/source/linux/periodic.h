// Work that is due rarely, such as listing a directory.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_PERIODIC_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_PERIODIC_H_

#include <cstdint>
#include <optional>

#include "perflib/clocks.h"

namespace fleetperf::agent {

// Thread-compatible.
class Periodic {
 public:
  explicit Periodic(int64_t seconds)
      : interval_(seconds * perflib::kLinuxPerfFreq) {}

  // Returns whether the work is due: at first, and when the interval has passed
  // since it was due.
  bool IsDue(const perflib::Clocks& clocks) {
    if (last_.has_value() && clocks.perf_time_stamp - *last_ < interval_) {
      return false;
    }
    last_ = clocks.perf_time_stamp;
    return true;
  }

  // Makes the work due at the next call of IsDue.
  void MakeDue() { last_.reset(); }

 private:
  const int64_t interval_;
  std::optional<int64_t> last_;  // PerfTimeStamp
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_PERIODIC_H_
