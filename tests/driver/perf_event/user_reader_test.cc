#include "driver/perf_event/user_reader.h"

#include "absl/time/time.h"
#include "driver/perf_event/builder.h"
#include "driver/perf_event/simulation/simulated_system.h"
#include "tests/driver/perf_event/events.h"
#include "tests/driver/perf_event/kernel.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::perf_event {
namespace {

using fleetperf::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::Optional;

// An enabled event of a machine on which 3 · 10^9 instructions a second retire.
struct Reading {
  explicit Reading(SimulatedMachine options) : machine(options) {}

  Counter Open() {
    machine.SetRate(Instructions(), 3'000'000'000);
    return *Builder(Instructions(), machine).Enabled().Build();
  }

  SimulatedSystem machine;
  Counter counter = Open();
  UserReader reader = *UserReader::Create(counter);
};

TEST(UserReaderTest, ReadsTheCountThatReadReturns) {
  Reading test({});
  test.machine.Advance(absl::Seconds(2));
  ASSERT_OK_AND_ASSIGN(const UserValue value, test.reader.Read());
  EXPECT_THAT(value.count, Optional(6'000'000'000u));
  EXPECT_EQ(value.time_enabled, 2'000'000'000u);
  EXPECT_EQ(value.time_running, 2'000'000'000u);
}

// 3 · 10^9 a second exceed 32 bits many times in a minute. The counter starts
// below 0, so it is negative at first, too.
TEST(UserReaderTest, ExtendsNarrowCounters) {
  for (const int width : {40, 48, 64}) {
    Reading test({.counter_width = width});
    for (uint64_t second = 1; second <= 100; ++second) {
      test.machine.Advance(absl::Seconds(1));
      ASSERT_OK_AND_ASSIGN(const UserValue value, test.reader.Read());
      ASSERT_THAT(value.count, Optional(second * 3'000'000'000))
          << width << " bits";
    }
  }
}

// Index 0 means that the event is on no counter, not that the count is 0.
TEST(UserReaderTest, HasNoCountWhileOthersHaveTheirTurn) {
  Reading test({.hardware_counters = 1, .turn = absl::Milliseconds(1)});
  const Event cycles = Hardware(HardwareEvent::kCpuCycles);
  test.machine.SetRate(cycles, 1);
  ASSERT_OK_AND_ASSIGN(const Counter other,
                       Builder(cycles, test.machine).Enabled().Build());
  int with_count = 0;
  for (int turn = 0; turn < 10; ++turn) {
    test.machine.Advance(absl::Milliseconds(1));
    ASSERT_OK_AND_ASSIGN(const UserValue value, test.reader.Read());
    with_count += value.count.has_value();
  }
  EXPECT_EQ(with_count, 5);
}

TEST(UserReaderTest, HasNoCountIfThePageForbidsRdpmc) {
  Reading test({.user_rdpmc = false});
  test.machine.Advance(absl::Seconds(1));
  EXPECT_FALSE(test.reader.can_read_count());
  ASSERT_OK_AND_ASSIGN(const UserValue value, test.reader.Read());
  EXPECT_EQ(value.count, std::nullopt);
  EXPECT_EQ(value.time_enabled, 1'000'000'000u);
}

TEST(UserReaderTest, HasTheKernelsTimesWithoutAClock) {
  Reading test({.user_time = false});
  test.machine.Advance(absl::Seconds(1));
  EXPECT_FALSE(test.reader.has_clock());
  ASSERT_OK_AND_ASSIGN(const UserValue value, test.reader.Read());
  EXPECT_EQ(value.time_running, 1'000'000'000u);
}

TEST(UserReaderTest, ReadsAgainWhenThePageChanges) {
  Reading test({.torn_reads = 99});
  test.machine.Advance(absl::Seconds(1));
  ASSERT_OK_AND_ASSIGN(const UserValue value, test.reader.Read());
  EXPECT_THAT(value.count, Optional(3'000'000'000u));
}

TEST(UserReaderTest, GivesUpIfThePageNeverSettles) {
  Reading test({.torn_reads = 100});
  test.machine.Advance(absl::Seconds(1));
  EXPECT_THAT(test.reader.Read(),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr("changed at each of 100 attempts")));
}

TEST(UserReaderTest, AFailingMapIsAnError) {
  SimulatedSystem machine;
  machine.SetRate(Instructions(), 1);
  ASSERT_OK_AND_ASSIGN(const Counter counter,
                       Builder(Instructions(), machine).Build());
  machine.Fail(SimulatedCall::kMap, EPERM);
  EXPECT_THAT(UserReader::Create(counter),
              StatusIs(absl::StatusCode::kPermissionDenied,
                       HasSubstr("instructions: cannot map its page")));
}

using UserReaderKernelTest = KernelTest;

// Software events are on no hardware counter, and their page has offset 0.
TEST_F(UserReaderKernelTest, SoftwareEventsHaveNoCount) {
  ASSERT_OK_AND_ASSIGN(
      const Counter clock,
      Builder(Software(SoftwareEvent::kTaskClock)).Enabled().Build());
  ASSERT_OK_AND_ASSIGN(const UserReader reader, UserReader::Create(clock));
  ASSERT_OK_AND_ASSIGN(const UserValue user, reader.Read());
  EXPECT_EQ(user.count, std::nullopt);
  ASSERT_OK_AND_ASSIGN(const CounterValue kernel, clock.ReadFull());
  EXPECT_LE(user.time_enabled, *kernel.time_enabled);
  EXPECT_LE(user.time_running, *kernel.time_running);
}

// Needs a PMU.
TEST_F(UserReaderKernelTest, AgreesWithALaterRead) {
  const Builder builder = Builder(Instructions()).Enabled();
  SKIP_UNLESS_OPENS(builder);
  ASSERT_OK_AND_ASSIGN(const Counter counter, builder.Build());
  ASSERT_OK_AND_ASSIGN(const UserReader reader, UserReader::Create(counter));
  if (!reader.can_read_count()) {
    GTEST_SKIP() << "The page does not permit RDPMC";
  }
  ASSERT_OK_AND_ASSIGN(const UserValue user, reader.Read());
  ASSERT_OK_AND_ASSIGN(const CounterValue kernel, counter.ReadFull());
  EXPECT_LE(user.count.value_or(0), kernel.value);
  EXPECT_LE(user.time_enabled, *kernel.time_enabled);
}

}  // namespace
}  // namespace fleetperf::perf_event
