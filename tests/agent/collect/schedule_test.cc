#include "agent/collect/schedule.h"

#include <gtest/gtest.h>

namespace fleetperf::agent {
namespace {

TEST(Schedule, TicksAtMultiplesOfTheInterval) {
  Schedule schedule(absl::Seconds(100), absl::Seconds(10));
  const struct {
    absl::Duration now;  // when the previous tick is done
    int64_t missed;
    absl::Duration due;
  } kSteps[] = {
      {absl::Seconds(100), 0, absl::Seconds(110)},
      {absl::Milliseconds(119'999), 0, absl::Seconds(120)},
      // A tick that becomes due at this very moment is missed.
      {absl::Seconds(130), 1, absl::Seconds(140)},
      {absl::Seconds(141), 0, absl::Seconds(150)},
      {absl::Seconds(185), 3, absl::Seconds(190)},
      {absl::Seconds(189), 0, absl::Seconds(200)},  // woken early
      {absl::Seconds(1'000'000'205), 100'000'000, absl::Seconds(1'000'000'210)},
  };
  EXPECT_EQ(schedule.due(), absl::Seconds(100));
  for (const auto& step : kSteps) {
    EXPECT_EQ(schedule.Advance(step.now), step.missed);
    EXPECT_EQ(schedule.due(), step.due);
  }
}

}  // namespace
}  // namespace fleetperf::agent
