// Waiting times between attempts.

#ifndef FLEETPERF_BASE_BACKOFF_H_
#define FLEETPERF_BASE_BACKOFF_H_

#include <algorithm>

#include "absl/random/random.h"
#include "absl/time/time.h"

namespace fleetperf {

// Each wait is about `kGrowth` times the previous one, up to a maximum. Waits
// are randomized, so that machines that failed together do not retry together.
// Thread-compatible.
class Backoff {
 public:
  Backoff(absl::Duration first, absl::Duration longest)
      : first_(first), longest_(longest), wait_(first) {}

  absl::Duration Next() {
    const absl::Duration wait = wait_;
    wait_ = std::min(wait_ * kGrowth, longest_);
    return wait * absl::Uniform(random_, 0.5, 1.0);
  }
  void Reset() { wait_ = first_; }

 private:
  static constexpr double kGrowth = 1.6;

  absl::Duration first_;
  absl::Duration longest_;
  absl::Duration wait_;
  absl::BitGen random_;
};

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_BACKOFF_H_
