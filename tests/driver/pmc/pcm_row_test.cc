// PCM's formulas. Expected values are worked out by hand.

#include "driver/pmc/pcm_row.h"

#include <gtest/gtest.h>

namespace fleetperf::pmc {
namespace {

using enum hardware::HardwareCount;
using hardware::HardwareReading;

constexpr uint64_t kHertz = 2'000'000'000;

// Half a second of 2 · 10^9 cycles/s, of which the CPU was active for 0.25 s at
// 3 GHz.
HardwareReading Growth() {
  HardwareReading growth;
  growth[kTimestamp] = 1'000'000'000;
  growth[kReferenceCycles] = 500'000'000;
  growth[kCycles] = 750'000'000;
  growth[kInstructions] = 1'500'000'000;
  growth[kL3References] = 4'000'000;
  growth[kL3Misses] = 1'000'000;
  growth[kL2Hits] = 9'000'000;
  growth[kL2Misses] = 3'000'000;
  growth[kPackageMicrojoules] = 12'500'000;
  return growth;
}

TEST(PcmRow, HasPcmsColumns) {
  const PcmRow row = MakePcmRow(Growth(), kHertz);
  EXPECT_DOUBLE_EQ(*row.utilization, 0.5);
  EXPECT_DOUBLE_EQ(*row.ipc, 2);
  EXPECT_DOUBLE_EQ(*row.exec, 1.5);
  EXPECT_DOUBLE_EQ(*row.active_frequency, 3);
  EXPECT_DOUBLE_EQ(*row.average_frequency, 1.5);
  EXPECT_DOUBLE_EQ(*row.l3_misses, 1e6);
  EXPECT_DOUBLE_EQ(*row.l3_hit, 0.75);
  EXPECT_DOUBLE_EQ(*row.l2_hit, 0.75);
  EXPECT_NEAR(*row.l3_mpi, 1.0 / 1500, 1e-12);
  EXPECT_NEAR(*row.l2_mpi, 3.0 / 1500, 1e-12);
  EXPECT_DOUBLE_EQ(*row.cpu_joules, 12.5);
  EXPECT_FALSE(row.memory_joules);
  EXPECT_FALSE(row.headroom);
}

TEST(PcmRow, ACpuThatWasHaltedHasNoIpc) {
  HardwareReading growth = Growth();
  growth[kCycles] = growth[kReferenceCycles] = growth[kInstructions] = 0;
  const PcmRow row = MakePcmRow(growth, kHertz);
  EXPECT_DOUBLE_EQ(*row.utilization, 0);
  EXPECT_FALSE(row.ipc);
  EXPECT_FALSE(row.active_frequency);
  EXPECT_DOUBLE_EQ(*row.average_frequency, 0);
}

TEST(PcmRow, HasNoFrequencyWithoutThatOfTheTimestampCounter) {
  const PcmRow row = MakePcmRow(Growth(), 0);
  EXPECT_FALSE(row.active_frequency);
  EXPECT_FALSE(row.average_frequency);
  EXPECT_DOUBLE_EQ(*row.utilization, 0.5);
}

TEST(PcmRow, GrowthIsThatOfCountsWhichBothReadingsHave) {
  HardwareReading before;
  before[kInstructions] = 10;
  before[kCycles] = 5;
  before.time = absl::Seconds(1);
  HardwareReading after;
  after[kInstructions] = 25;
  after[kL3Misses] = 7;
  after.time = absl::Seconds(3);
  after.temperature = 50;
  const HardwareReading growth = GrowthOf(before, after);
  EXPECT_EQ(growth[kInstructions], 15u);
  EXPECT_FALSE(growth[kCycles]);
  EXPECT_FALSE(growth[kL3Misses]);
  EXPECT_EQ(growth.time, absl::Seconds(2));
  EXPECT_EQ(growth.temperature, 50u);
}

// Two CPUs: one as above, one halted all the time.
TEST(PcmRow, ATotalIsThatOfSummedCounts) {
  HardwareReading halted;
  halted[kTimestamp] = 1'000'000'000;
  halted[kReferenceCycles] = halted[kCycles] = halted[kInstructions] = 0;
  halted.temperature_headroom = 60;
  HardwareReading active = Growth();
  active.temperature_headroom = 20;
  HardwareReading total;
  AddToTotal(active, &total);
  AddToTotal(halted, &total);
  const PcmRow row = MakePcmRow(total, kHertz);
  EXPECT_DOUBLE_EQ(*row.utilization, 0.25);
  EXPECT_DOUBLE_EQ(*row.ipc, 2);
  EXPECT_DOUBLE_EQ(*row.headroom, 20);
}

}  // namespace
}  // namespace fleetperf::pmc
