#include "base/scaled_count.h"

#include <gtest/gtest.h>

#include <limits>

namespace fleetperf {
namespace {

TEST(ScaledCount, IsRoundedDown) {
  EXPECT_EQ(ScaledCount(10, 0.25), 2);
  EXPECT_EQ(ScaledCount(3, 0.75), 2);
  EXPECT_EQ(ScaledCount(7, 1e6), 7'000'000);
  EXPECT_EQ(ScaledCount(0, 1e6), 0);
  EXPECT_EQ(ScaledCount(UINT64_MAX, 1e-300), 0);
  // 0.1 as a double is a little more than a tenth.
  EXPECT_EQ(ScaledCount(10, 0.1), 1);
}

TEST(ScaledCount, HasAllBitsOfTheProduct) {
  EXPECT_EQ(ScaledCount(UINT64_MAX, 1), UINT64_MAX);
  EXPECT_EQ(ScaledCount(UINT64_MAX - 1, 0.5), UINT64_MAX / 2);
  // 2^-32, as of RAPL's energy counters.
  EXPECT_EQ(ScaledCount(UINT64_MAX, 0x1p-32), UINT32_MAX);
  EXPECT_EQ(ScaledCount((uint64_t{1} << 60) + 1, 8 * (1 - 0x1p-53)),
            (uint64_t{1} << 63) - 1017);
}

TEST(ScaledCount, Saturates) {
  EXPECT_EQ(ScaledCount(UINT64_MAX, 1.5), UINT64_MAX);
  EXPECT_EQ(ScaledCount(1, 0x1p53), UINT64_MAX);
  EXPECT_EQ(ScaledCount(0, 0x1p53), 0);
}

TEST(ScaledCount, IgnoresFactorsThatAreNotAboveZero) {
  EXPECT_EQ(ScaledCount(5, 0), 0);
  EXPECT_EQ(ScaledCount(5, -1), 0);
  EXPECT_EQ(ScaledCount(5, std::numeric_limits<double>::quiet_NaN()), 0);
}

}  // namespace
}  // namespace fleetperf
