// Plans choose what a PMU with few counters counts.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "agent/source/hardware_counters.h"
#include "driver/hardware/driver_reader.h"
#include "tests/driver/hardware/in_process_device.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::agent {
namespace {

// Four general counters: two pairs of events.
class HardwarePlanTest : public ::testing::Test {
 protected:
  HardwarePlanTest() {
    machine_.AddCpu(pmu::HaswellServer());
    core_ = std::make_unique<testing::InProcessPmu>(machine_);
    auto reader = hardware::MakeDriverReader(core_->Open(), {});
    counters_ = std::make_unique<HardwareCounters>(*std::move(reader));
  }

  void Plan(const std::vector<std::string>& counters) {
    std::vector<PlannedQuery> queries = {
        {.counterset = "Hardware Counters", .counters = counters}};
    EXPECT_TRUE(counters_->DefineCounters(&queries).problems.empty());
  }

  // Whether the first CPU has a value of the counter.
  bool Has(const std::string& counter) {
    CountersetSample sample;
    const auto& counters = counters_->registration().counters;
    sample.Reset(counters.size());
    EXPECT_OK(counters_->Sample(~ColumnSet{0}, {}, &sample));
    for (size_t column = 0; column < counters.size(); ++column) {
      if (counters[column].name == counter) return sample.HasValue(0, column);
    }
    ADD_FAILURE() << counter;
    return false;
  }

  pmu::SimulatedMachine machine_;
  std::unique_ptr<testing::InProcessPmu> core_;
  std::unique_ptr<HardwareCounters> counters_;
};

TEST_F(HardwarePlanTest, WithoutNamesCountsTheOuterCaches) {
  Plan({});
  EXPECT_TRUE(Has("Instructions/sec"));
  EXPECT_TRUE(Has("L3 Misses/sec"));
  EXPECT_TRUE(Has("L2 Misses/sec"));
  EXPECT_FALSE(Has("Branches/sec"));
  EXPECT_FALSE(Has("L1 Data Misses/sec"));
}

TEST_F(HardwarePlanTest, NamesComeFirst) {
  Plan({"% Branch Misses", "L1 Data *"});
  EXPECT_TRUE(Has("Instructions/sec"));
  EXPECT_TRUE(Has("% Branch Misses"));
  EXPECT_TRUE(Has("L1 Data Misses/sec"));
  EXPECT_FALSE(Has("L3 Misses/sec"));
}

TEST_F(HardwarePlanTest, AnotherPlanChoosesAgain) {
  Plan({"% Branch Misses"});
  EXPECT_TRUE(Has("Branches/sec"));
  EXPECT_TRUE(Has("L3 Misses/sec"));
  EXPECT_FALSE(Has("L2 Misses/sec"));
  Plan({"id:12"});  // % L1 Data Misses
  EXPECT_TRUE(Has("L1 Data Loads/sec"));
  EXPECT_FALSE(Has("Branches/sec"));
}

TEST_F(HardwarePlanTest, APatternForAllCountersChoosesNone) {
  Plan({"*"});
  EXPECT_TRUE(Has("L2 Misses/sec"));
  EXPECT_FALSE(Has("Branches/sec"));
}

}  // namespace
}  // namespace fleetperf::agent
