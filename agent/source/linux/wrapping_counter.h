// Counters of the kernel that have 32 bits.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_WRAPPING_COUNTER_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_WRAPPING_COUNTER_H_

#include <cstdint>
#include <utility>

#include "agent/source/linux/units.h"

namespace fleetperf::agent {

// Extends such a counter to 64 bits, so that the values sent never wrap.
class WrappingCounter {
 public:
  // Takes the kernel's current value and returns the extended one. The first
  // value is returned as it is. A step back counts as no change.
  uint64_t Update(uint64_t value) {
    const auto current = static_cast<uint32_t>(value);
    if (!std::exchange(is_known_, true)) {
      extended_ = current;
    } else if (const uint32_t growth = current - last_;
               growth < kMinBackwardStep) {
      extended_ += growth;
    }
    last_ = current;
    return extended_;
  }

 private:
  bool is_known_ = false;
  uint32_t last_ = 0;
  uint64_t extended_ = 0;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_WRAPPING_COUNTER_H_
