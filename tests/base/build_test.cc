#include <gtest/gtest.h>

namespace {

// Libraries have additional checks in code compiled without NDEBUG.
TEST(Build, HasDebugChecksOnlyInDebugBuilds) {
#ifdef NDEBUG
  constexpr bool kHasDebugChecks = false;
#else
  constexpr bool kHasDebugChecks = true;
#endif
  EXPECT_EQ(kHasDebugChecks, FLEETPERF_DEBUG_CHECKS == 1);
}

}  // namespace
