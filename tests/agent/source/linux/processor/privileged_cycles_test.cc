#include <gtest/gtest.h>

#include "agent/source/linux/processor/processor_performance.h"

namespace fleetperf::agent {
namespace {

TEST(PrivilegedCyclesTest, GivesTheKernelItsPartOfTheCycles) {
  PrivilegedCycles cycles;
  EXPECT_EQ(cycles.Update(1'000, 10, 40), 0);
  EXPECT_EQ(cycles.Update(1'900, 11, 43), 300);  // a third of 900
  EXPECT_EQ(cycles.Update(2'000, 11, 44), 300);  // all in programs
  EXPECT_EQ(cycles.Update(2'050, 13, 46), 350);  // all in the kernel
}

TEST(PrivilegedCyclesTest, DividesCyclesWithoutBusyTimeWithTheNext) {
  PrivilegedCycles cycles;
  cycles.Update(0, 0, 0);
  EXPECT_EQ(cycles.Update(70, 0, 0), 0);
  EXPECT_EQ(cycles.Update(100, 1, 2), 50);
}

TEST(PrivilegedCyclesTest, LeavesOutGrowthAcrossAFall) {
  PrivilegedCycles cycles;
  cycles.Update(0, 0, 0);
  EXPECT_EQ(cycles.Update(100, 1, 2), 50);
  EXPECT_EQ(cycles.Update(900, 0, 9), 50);
  EXPECT_EQ(cycles.Update(1'000, 1, 10), 150);
}

// The times are rounded down separately.
TEST(PrivilegedCyclesTest, TheKernelHasAtMostAllCycles) {
  PrivilegedCycles cycles;
  cycles.Update(0, 0, 0);
  EXPECT_EQ(cycles.Update(100, 2, 1), 100);
}

TEST(PrivilegedCyclesTest, DoesNotOverflow) {
  constexpr uint64_t kLarge = uint64_t{1} << 62;
  PrivilegedCycles cycles;
  cycles.Update(0, 0, 0);
  EXPECT_EQ(cycles.Update(kLarge, kLarge / 4, kLarge), kLarge / 4);
}

}  // namespace
}  // namespace fleetperf::agent
