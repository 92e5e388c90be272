// Breaks between the clocks of neighbouring ticks.

#include "values/clock_check.h"

#include <vector>

#include "tests/support/status_matchers.h"

namespace fleetperf {
namespace {

using ::testing::ElementsAre;

constexpr int64_t kMillisecond = 1'000'000;  // in ns

// Returns clocks, the monotonic one of which has `freq` ticks a second.
perflib::Clocks At(int64_t stamp_ms, int64_t time_of_day_ms,
                   int64_t freq = perflib::kLinuxPerfFreq) {
  return {
      .perf_time_stamp = freq / 1000 * stamp_ms,
      .perf_time_100nsec = perflib::k100NSecPerSecond / 1000 * time_of_day_ms,
      .perf_freq = freq};
}

// With an interval of a second.
std::vector<int64_t> LengthsOf(const std::vector<perflib::Clocks>& clocks) {
  std::vector<int64_t> lengths(clocks.size());
  ClockCheck(absl::Seconds(1)).SoundLengths(clocks, absl::MakeSpan(lengths));
  return lengths;
}

// Clocks may differ by 50 ms and 1% of the length; a gap is longer than 2.5
// intervals; no clock may go back.
TEST(ClockCheck, FindsEveryKindOfBreak) {
  const struct {
    int64_t length_ms;
    int64_t time_of_day_ms;
    bool is_sound;
  } kCases[] = {
      {1000, 1000, true}, {1000, 1050, true},  {1000, 950, true},
      {1000, 1060, true}, {1000, 940, true},   {1000, 1061, false},
      {1000, 939, false}, {2500, 2500, true},  {2501, 2501, false},
      {0, 0, true},       {-1, 5, false},      {5, -1, false},
      {-10, -10, false},  {3000, 1000, false}, {1000, 3000, false},
      {2500, 2575, true}, {2500, 2576, false},
  };
  for (const int64_t freq : {perflib::kLinuxPerfFreq, int64_t{3'000'000}}) {
    for (const auto& test : kCases) {
      // The ticks before and after it are sound.
      const int64_t stamp = 1000 + test.length_ms;
      const int64_t time = 6000 + test.time_of_day_ms;
      EXPECT_THAT(
          LengthsOf({At(0, 5000, freq), At(1000, 6000, freq),
                     At(stamp, time, freq),
                     At(stamp + 2000, time + 2000, freq)}),
          ElementsAre(-1, 1000 * kMillisecond,
                      test.is_sound ? test.length_ms * kMillisecond : -1,
                      2000 * kMillisecond))
          << test.length_ms << " " << test.time_of_day_ms << " " << freq;
    }
  }
}

TEST(ClockCheck, TakesOtherFrequencies) {
  perflib::Clocks first = At(0, 5000);
  perflib::Clocks second = At(0, 6000);
  first.perf_freq = second.perf_freq = 10;
  second.perf_time_stamp = 10;  // a second
  EXPECT_THAT(LengthsOf({first, second, At(1000, 7000), At(2000, 8000)}),
              ElementsAre(-1, 1000 * kMillisecond, -1, 1000 * kMillisecond));
}

TEST(ClockCheck, TakesNoTicksAndOne) {
  EXPECT_THAT(LengthsOf({}), ElementsAre());
  EXPECT_THAT(LengthsOf({At(0, 5000)}), ElementsAre(-1));
}

}  // namespace
}  // namespace fleetperf
