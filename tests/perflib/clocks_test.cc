#include "perflib/clocks.h"

#include <array>
#include <cstdint>
#include <limits>

#include "tests/support/status_matchers.h"

namespace fleetperf::perflib {
namespace {

struct Example {
  int64_t perf_time_100nsec;
  std::array<int, 7>
      calendar;  // year to second, with the day of week after the month
  absl::Duration subsecond;
};

// Computed with Python's datetime. The day of week counts from Sunday, 0.
const Example kExamples[] = {
    {0, {1601, 1, 1, 1, 0, 0, 0}, {}},
    {1, {1601, 1, 1, 1, 0, 0, 0}, absl::Nanoseconds(100)},
    {116'444'736'000'000'000, {1970, 1, 4, 1, 0, 0, 0}, {}},
    // A Tuesday: the block of a real machine against which Microsoft's
    // structures were checked.
    {134'351'767'437'550'590,
     {2026, 9, 2, 29, 17, 32, 23},
     absl::Microseconds(755'059)},
    {125'963'423'999'999'990,
     {2000, 2, 2, 29, 23, 59, 59},
     absl::Microseconds(999'999)},
    {134'397'792'000'000'000, {2026, 11, 0, 22, 0, 0, 0}, {}},
    {2'650'466'880'000'000'000, {9999, 12, 5, 31, 0, 0, 0}, {}},
    // Before the epoch.
    {-10'000'000, {1600, 12, 0, 31, 23, 59, 59}, {}},
    {-1, {1600, 12, 0, 31, 23, 59, 59}, absl::Nanoseconds(999'999'900)},
};

TEST(Clocks, ConvertsBetweenPerfTime100NSecAndTime) {
  for (const Example& example : kExamples) {
    SCOPED_TRACE(example.perf_time_100nsec);
    const auto& c = example.calendar;
    const absl::Time time =
        absl::FromCivil(absl::CivilSecond(c[0], c[1], c[3], c[4], c[5], c[6]),
                        absl::UTCTimeZone()) +
        example.subsecond;
    EXPECT_EQ(TimeFromPerfTime100NSec(example.perf_time_100nsec), time);
    EXPECT_EQ(PerfTime100NSecFromTime(time), example.perf_time_100nsec);
  }
}

TEST(Clocks, SplitsPerfTime100NSecIntoCalendarFields) {
  for (const Example& example : kExamples) {
    SCOPED_TRACE(example.perf_time_100nsec);
    const SystemTime time =
        SystemTimeFromPerfTime100NSec(example.perf_time_100nsec);
    EXPECT_EQ(
        (std::array<int, 7>{time.year, time.month, time.day_of_week, time.day,
                            time.hour, time.minute, time.second}),
        example.calendar);
    EXPECT_EQ(time.milliseconds, example.subsecond / absl::Milliseconds(1));
  }
}

TEST(Clocks, IsExactForEveryValue) {
  using Limits = std::numeric_limits<int64_t>;
  for (const int64_t value :
       {Limits::min(), Limits::min() + 1, int64_t{-10'000'001}, int64_t{99},
        int64_t{10'000'001}, Limits::max() - 1, Limits::max()}) {
    EXPECT_EQ(PerfTime100NSecFromTime(TimeFromPerfTime100NSec(value)), value);
  }
}

TEST(Clocks, RoundsTimesTowardsZero) {
  const absl::Time epoch = TimeFromPerfTime100NSec(0);
  EXPECT_EQ(PerfTime100NSecFromTime(epoch + absl::Nanoseconds(199)), 1);
  EXPECT_EQ(PerfTime100NSecFromTime(epoch - absl::Nanoseconds(199)), -1);
}

TEST(Clocks, SaturatesTimesBeyondTheRange) {
  using Limits = std::numeric_limits<int64_t>;
  EXPECT_EQ(PerfTime100NSecFromTime(absl::InfiniteFuture()), Limits::max());
  EXPECT_EQ(PerfTime100NSecFromTime(absl::InfinitePast()), Limits::min());
  EXPECT_EQ(PerfTime100NSecFromTime(TimeFromPerfTime100NSec(Limits::max()) +
                                    absl::Hours(1)),
            Limits::max());
}

}  // namespace
}  // namespace fleetperf::perflib
