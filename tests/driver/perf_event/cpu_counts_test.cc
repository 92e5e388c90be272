#include "driver/perf_event/cpu_counts.h"

#include <algorithm>
#include <cerrno>

#include "driver/perf_event/simulation/simulated_system.h"
#include "tests/driver/perf_event/events.h"
#include "tests/driver/perf_event/kernel.h"
#include "tests/support/patience.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::perf_event {
namespace {

using fleetperf::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Returns the total of an event on a CPU, or -1 if there is none.
int64_t TotalOf(const CpuCounts& counts, int cpu, size_t event) {
  const ScaledTotal* const total = counts.Find(cpu, event);
  if (total == nullptr || !total->is_known()) return -1;
  return static_cast<int64_t>(total->total());
}

TEST(CpuCountsTest, CountsOnEachCpu) {
  SimulatedSystem machine({.cpus = 2});
  machine.SetRate(Cycles(), 0, 100);
  machine.SetRate(Cycles(), 1, 200);
  machine.SetRate(Misses(), 7);
  CpuCounts counts({.system = &machine, .groups = {{Cycles()}, {Misses()}}});
  ASSERT_OK(counts.Update());
  EXPECT_THAT(counts.cpus(), ElementsAre(0, 1));
  machine.Advance(absl::Seconds(3));
  ASSERT_OK(counts.Update());
  EXPECT_EQ(TotalOf(counts, 0, 0), 300);
  EXPECT_EQ(TotalOf(counts, 1, 0), 600);
  EXPECT_EQ(TotalOf(counts, 1, 1), 21);
  EXPECT_EQ(counts.Find(2, 0), nullptr);
}

// Events of one group have the same times, so their ratio is exact even if the
// group takes turns.
TEST(CpuCountsTest, GroupsThatTakeTurnsKeepTheirRatio) {
  SimulatedSystem machine(
      {.hardware_counters = 2, .turn = absl::Milliseconds(1)});
  machine.SetRate(Cycles(), 2'000'000);
  machine.SetRate(Instructions(), 3'000'000);
  machine.SetRate(Misses(), 1'000'000);
  CpuCounts counts(
      {.system = &machine, .groups = {{Cycles(), Instructions()}, {Misses()}}});
  ASSERT_OK(counts.Update());
  for (int i = 0; i < 10; ++i) {
    machine.Advance(absl::Milliseconds(100));
    ASSERT_OK(counts.Update());
  }
  EXPECT_EQ(TotalOf(counts, 0, 0), 2'000'000);
  EXPECT_EQ(TotalOf(counts, 0, 1), 3'000'000);
  EXPECT_EQ(TotalOf(counts, 0, 2), 1'000'000);
  EXPECT_LT(counts.Find(0, 0)->time_running(),
            counts.Find(0, 0)->time_enabled());
}

TEST(CpuCountsTest, AnAbsentEventCostsOnlyItself) {
  SimulatedSystem machine;
  machine.SetRate(Instructions(), 10);
  CpuCounts counts(
      {.system = &machine, .groups = {{Cycles(), Instructions()}}});
  ASSERT_OK(counts.Update());
  machine.Advance(absl::Seconds(1));
  ASSERT_OK(counts.Update());
  EXPECT_EQ(counts.Find(0, 0), nullptr);
  EXPECT_EQ(TotalOf(counts, 0, 1), 10);
  ASSERT_EQ(counts.missing().size(), 1u);
  EXPECT_THAT(counts.missing().at(0),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("cpu-cycles")));
}

TEST(CpuCountsTest, GroupsBehindTheLimitAreLeftOutWhole) {
  SimulatedSystem machine({.cpus = 4});
  for (const Event& event : {Cycles(), Instructions(), Misses()}) {
    machine.SetRate(event, 10);
  }
  CpuCounts counts({.system = &machine,
                    .groups = {{Cycles()}, {Instructions(), Misses()}},
                    .max_descriptors = 11});
  ASSERT_OK(counts.Update());
  EXPECT_EQ(machine.open_descriptors(), 4);
  EXPECT_THAT(counts.missing().at(1),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("needs 12 descriptors (events times 4 CPUs), "
                                 "more than the 11")));
  EXPECT_TRUE(counts.missing().contains(2));
}

// The process may have fewer descriptors than it expects.
TEST(CpuCountsTest, GroupsWithoutDescriptorsAreClosedWhole) {
  SimulatedSystem machine({.cpus = 4, .max_descriptors = 6});
  machine.SetRate(Cycles(), 10);
  machine.SetRate(Misses(), 10);
  CpuCounts counts({.system = &machine, .groups = {{Cycles()}, {Misses()}}});
  ASSERT_OK(counts.Update());
  machine.Advance(absl::Seconds(1));
  ASSERT_OK(counts.Update());
  EXPECT_EQ(counts.open_descriptors(), 4u);
  EXPECT_EQ(machine.open_descriptors(), 4);
  for (int cpu = 0; cpu < 4; ++cpu) {
    EXPECT_EQ(TotalOf(counts, cpu, 0), 10) << cpu;
    EXPECT_EQ(counts.Find(cpu, 1), nullptr) << cpu;
  }
}

TEST(CpuCountsTest, CpusComeAndGo) {
  SimulatedSystem machine({.cpus = 2});
  machine.SetRate(Cycles(), 10);
  CpuCounts counts({.system = &machine, .groups = {{Cycles()}}});
  const auto update = [&](int expected_descriptors) {
    machine.Advance(absl::Seconds(1));
    ASSERT_OK(counts.Update());
    EXPECT_EQ(machine.open_descriptors(), expected_descriptors);
  };
  machine.SetOnline(1, false);
  update(1);
  EXPECT_THAT(counts.cpus(), ElementsAre(0));
  machine.SetOnline(1, true);
  update(2);  // CPU 1 begins to count
  update(2);
  EXPECT_EQ(TotalOf(counts, 1, 0), 10);
  machine.SetOnline(1, false);
  update(1);
  machine.SetOnline(1, true);
  update(2);
  update(2);
  EXPECT_EQ(TotalOf(counts, 1, 0), 20);
}

// An event stops for good if its CPU is offline for a moment that no reading
// sees.
TEST(CpuCountsTest, EventsOfACpuThatWasOfflineForAMomentAreReopened) {
  SimulatedSystem machine({.cpus = 2});
  machine.SetRate(Cycles(), 10);
  CpuCounts counts({.system = &machine, .groups = {{Cycles()}}});
  for (int i = 0; i < 2; ++i) {
    ASSERT_OK(counts.Update());
    machine.Advance(absl::Seconds(1));
  }
  machine.SetOnline(1, false);
  machine.SetOnline(1, true);
  for (int i = 0; i < 4; ++i) {
    ASSERT_OK(counts.Update());
    machine.Advance(absl::Seconds(1));
  }
  ASSERT_OK(counts.Update());
  EXPECT_GE(TotalOf(counts, 1, 0), 40);
}

TEST(CpuCountsTest, EventsThatDoNotStartAreReopened) {
  SimulatedSystem machine({.cpus = 2});
  machine.SetRate(Cycles(), 10);
  CpuCounts counts({.system = &machine, .groups = {{Cycles()}}});
  ASSERT_OK(counts.Update());
  machine.SetOnline(1, false);
  machine.SetOnline(1, true);
  for (int i = 0; i < 4; ++i) {
    machine.Advance(absl::Seconds(1));
    ASSERT_OK(counts.Update());
  }
  EXPECT_EQ(TotalOf(counts, 0, 0), 40);
  EXPECT_EQ(TotalOf(counts, 1, 0), 20);
}

TEST(CpuCountsTest, AReadThatFailsOnceLosesAtMostOnePeriod) {
  SimulatedSystem machine;
  machine.SetRate(Cycles(), 10);
  CpuCounts counts({.system = &machine, .groups = {{Cycles()}}});
  ASSERT_OK(counts.Update());
  machine.Advance(absl::Seconds(1));
  machine.Fail(SimulatedCall::kRead, EIO);
  ASSERT_OK(counts.Update());
  ASSERT_OK(counts.Update());
  machine.Advance(absl::Seconds(1));
  ASSERT_OK(counts.Update());
  EXPECT_EQ(TotalOf(counts, 0, 0), 10);
}

// The PMU of a package counts on one CPU.
TEST(CpuCountsTest, EventsWithACpumaskCountOnlyThere) {
  SimulatedSystem machine({.cpus = 2});
  Event joules = Raw(2);
  joules.cpus = {1};
  machine.SetRate(joules, 5);
  CpuCounts counts({.system = &machine, .groups = {{joules}}});
  ASSERT_OK(counts.Update());
  machine.Advance(absl::Seconds(1));
  ASSERT_OK(counts.Update());
  EXPECT_EQ(counts.Find(0, 0), nullptr);
  EXPECT_EQ(TotalOf(counts, 1, 0), 5);
  EXPECT_TRUE(counts.missing().empty());
}

using CpuCountsKernelTest = KernelTest;

TEST_F(CpuCountsKernelTest, CountsTheClockOfEachCpu) {
  SKIP_UNLESS_OPENS(
      Builder(Software(SoftwareEvent::kCpuClock)).AnyProcess().OneCpu(0));
  CpuCounts counts({.groups = {{Software(SoftwareEvent::kCpuClock),
                                Software(SoftwareEvent::kContextSwitches)}}});
  ASSERT_OK(counts.Update());
  EXPECT_TRUE(counts.missing().empty());
  // The clock of a virtual CPU may stand for a while.
  fleetperf::testing::Retry([&] {
    EXPECT_OK(counts.Update());
    return std::all_of(counts.cpus().begin(), counts.cpus().end(),
                       [&](int cpu) { return TotalOf(counts, cpu, 0) > 0; });
  });
  for (const int cpu : counts.cpus()) EXPECT_GT(TotalOf(counts, cpu, 0), 0);
}

}  // namespace
}  // namespace fleetperf::perf_event
