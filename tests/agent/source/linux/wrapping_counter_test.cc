#include "agent/source/linux/wrapping_counter.h"

#include <gtest/gtest.h>

namespace fleetperf::agent {
namespace {

TEST(WrappingCounterTest, ContinuesAfterAWrap) {
  WrappingCounter counter;
  EXPECT_EQ(counter.Update(0xFFFFFFF0), 0xFFFFFFF0);
  EXPECT_EQ(counter.Update(0xFFFFFFFF), 0xFFFFFFFF);
  EXPECT_EQ(counter.Update(4), 0x100000004);
  EXPECT_EQ(counter.Update(0x70000000), 0x170000000);
  EXPECT_EQ(counter.Update(0xE0000000), 0x1E0000000);
  EXPECT_EQ(counter.Update(0), 0x200000000);
}

TEST(WrappingCounterTest, NeverStepsBack) {
  WrappingCounter counter;
  EXPECT_EQ(counter.Update(1000), 1000);
  EXPECT_EQ(counter.Update(7), 1000);  // reset
  EXPECT_EQ(counter.Update(9), 1002);
}

}  // namespace
}  // namespace fleetperf::agent
