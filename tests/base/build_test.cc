#include <gtest/gtest.h>

namespace {

// Libraries check more in code that is compiled without NDEBUG.
TEST(Build, HasDebugChecksOnlyWhereTheyAreWanted) {
#ifdef NDEBUG
  constexpr bool kHasDebugChecks = false;
#else
  constexpr bool kHasDebugChecks = true;
#endif
  EXPECT_EQ(kHasDebugChecks, FLEETPERF_DEBUG_CHECKS == 1);
}

}  // namespace
