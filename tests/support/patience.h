#ifndef FLEETPERF_TESTS_SUPPORT_PATIENCE_H_
#define FLEETPERF_TESTS_SUPPORT_PATIENCE_H_

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace fleetperf::testing {

// The time that a test waits for an expected event before it fails.
inline constexpr absl::Duration kPatience = absl::Seconds(60);

// Calls `attempt` until it returns true, or kPatience has passed. For readings
// of the machine that other processes change at the same time.
template <typename Attempt>
void Retry(Attempt attempt) {
  const absl::Time deadline = absl::Now() + kPatience;
  while (!attempt() && absl::Now() < deadline) {
  }
}

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_SUPPORT_PATIENCE_H_
