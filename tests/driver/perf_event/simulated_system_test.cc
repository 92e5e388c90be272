// Counters and groups on a simulated PMU. Expected counts are rate times time.

#include "driver/perf_event/simulation/simulated_system.h"

#include <cerrno>

#include "driver/perf_event/builder.h"
#include "driver/perf_event/group.h"
#include "tests/driver/perf_event/events.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::perf_event {
namespace {

using fleetperf::testing::IsOkAndHolds;
using fleetperf::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::Optional;

TEST(SimulatedSystemTest, CountsFollowTheRates) {
  SimulatedSystem machine({.cpus = 2});
  machine.SetRate(Cycles(), 0, 1'000);
  machine.SetRate(Cycles(), 1, 7);
  const Builder builder = Builder(Cycles(), machine).AnyProcess().Enabled();
  ASSERT_OK_AND_ASSIGN(const Counter cpu0, Builder(builder).OneCpu(0).Build());
  ASSERT_OK_AND_ASSIGN(const Counter cpu1, Builder(builder).OneCpu(1).Build());
  machine.Advance(absl::Milliseconds(1500));
  EXPECT_THAT(cpu0.Read(), IsOkAndHolds(1500u));
  EXPECT_THAT(cpu1.Read(), IsOkAndHolds(10u));
  machine.SetRate(Cycles(), 1, 1);
  machine.Advance(absl::Milliseconds(500));  // the rest of 10.5, and a half
  EXPECT_THAT(cpu1.Read(), IsOkAndHolds(11u));
}

// Three events on a PMU with two counters run for two thirds of the time.
TEST(SimulatedSystemTest, MultiplexedCountsScaleToTheRates) {
  SimulatedSystem machine(
      {.hardware_counters = 2, .turn = absl::Milliseconds(1)});
  std::vector<Counter> counters;
  for (const Event& event : {Cycles(), Instructions(), Misses()}) {
    machine.SetRate(event, 3'000'000);
    ASSERT_OK_AND_ASSIGN(Counter counter,
                         Builder(event, machine).Enabled().Build());
    counters.push_back(std::move(counter));
  }
  machine.Advance(absl::Milliseconds(300));
  for (const Counter& counter : counters) {
    ASSERT_OK_AND_ASSIGN(const CounterValue value, counter.ReadFull());
    EXPECT_EQ(value.value, 600'000u);
    EXPECT_EQ(value.time_enabled, 300'000'000u);
    EXPECT_EQ(value.time_running, 200'000'000u);
    EXPECT_THAT(counter.ReadScaled(), IsOkAndHolds(Optional(900'000u)));
  }
}

// A group that needs more counters than there are never runs: its counts are
// unknown, not 0.
TEST(SimulatedSystemTest, AGroupThatDoesNotFitNeverRuns) {
  SimulatedSystem machine({.hardware_counters = 1});
  machine.SetRate(Cycles(), 100);
  machine.SetRate(Instructions(), 100);
  ASSERT_OK_AND_ASSIGN(Group group, Group::Create(Builder(Cycles(), machine)));
  ASSERT_OK(group.Add(Builder(Instructions(), machine)));
  ASSERT_OK(group.Enable());
  machine.Advance(absl::Seconds(1));
  GroupValues values;
  ASSERT_OK(group.Read(&values));
  EXPECT_THAT(values.time_enabled(), Optional(1'000'000'000u));
  EXPECT_THAT(values.time_running(), Optional(0u));
  EXPECT_THAT(group[0].ReadScaled(), IsOkAndHolds(std::nullopt));
}

TEST(SimulatedSystemTest, GroupsAreReadAtOneMoment) {
  SimulatedSystem machine;
  machine.SetRate(Cycles(), 2'000);
  machine.SetRate(Instructions(), 3'000);
  ASSERT_OK_AND_ASSIGN(Group group, Group::Create(Builder(Cycles(), machine)));
  ASSERT_OK_AND_ASSIGN(const size_t instructions,
                       group.Add(Builder(Instructions(), machine)));
  machine.Advance(absl::Seconds(1));  // the leader is disabled
  ASSERT_OK(group.Enable());
  machine.Advance(absl::Seconds(1));
  GroupValues values;
  ASSERT_OK(group.Read(&values));
  EXPECT_EQ(values.entries()[0].value, 2'000u);
  EXPECT_EQ(values.entries()[instructions].value, 3'000u);
}

TEST(SimulatedSystemTest, EventsOfAnOfflineCpuStopForGood) {
  SimulatedSystem machine({.cpus = 2});
  machine.SetRate(Cycles(), 10);
  const Builder builder =
      Builder(Cycles(), machine).AnyProcess().OneCpu(1).Enabled();
  ASSERT_OK_AND_ASSIGN(const Counter counter, builder.Build());
  machine.Advance(absl::Seconds(1));
  machine.SetOnline(1, false);
  EXPECT_THAT(machine.ReadFile("/sys/devices/system/cpu/online"),
              IsOkAndHolds("0\n"));
  EXPECT_THAT(builder.Build(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("cpu-cycles")));
  machine.SetOnline(1, true);
  machine.Advance(absl::Seconds(1));
  EXPECT_THAT(counter.Read(), IsOkAndHolds(10u));
  ASSERT_OK_AND_ASSIGN(const Counter reopened, builder.Build());
  machine.Advance(absl::Seconds(1));
  EXPECT_THAT(reopened.Read(), IsOkAndHolds(10u));
}

TEST(SimulatedSystemTest, FailuresOccurOnce) {
  SimulatedSystem machine;
  machine.SetRate(Cycles(), 10);
  ASSERT_OK_AND_ASSIGN(const Counter counter,
                       Builder(Cycles(), machine).Build());
  machine.Fail(SimulatedCall::kRead, EIO);
  EXPECT_THAT(counter.Read(), StatusIs(absl::StatusCode::kUnknown,
                                       HasSubstr("cpu-cycles: cannot read")));
  EXPECT_OK(counter.Read());
}

TEST(SimulatedSystemTest, EventsCloseWithTheirObjects) {
  SimulatedSystem machine;
  machine.SetRate(Cycles(), 10);
  {
    ASSERT_OK_AND_ASSIGN(Counter first, Builder(Cycles(), machine).Build());
    ASSERT_OK_AND_ASSIGN(Counter second, Builder(Cycles(), machine).Build());
    EXPECT_EQ(machine.open_descriptors(), 2);
    first = std::move(second);
  }
  EXPECT_EQ(machine.open_descriptors(), 0);
}

}  // namespace
}  // namespace fleetperf::perf_event
