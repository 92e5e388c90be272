#ifndef FLEETPERF_TESTS_SUPPORT_PATIENCE_H_
#define FLEETPERF_TESTS_SUPPORT_PATIENCE_H_

#include "absl/time/time.h"

namespace fleetperf::testing {

// The time that a test waits for an expected event before it fails.
inline constexpr absl::Duration kPatience = absl::Seconds(60);

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_SUPPORT_PATIENCE_H_
