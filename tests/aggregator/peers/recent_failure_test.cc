#include "aggregator/peers/recent_failure.h"

#include <gtest/gtest.h>

#include "tests/support/simulated_clock.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::aggregator {
namespace {

TEST(RecentFailure, OneCallerAtATimeTriesAgainAfterLongerAndLongerWaits) {
  testing::SimulatedClock clock;
  RecentFailure peer(&clock);
  const absl::Status failure = absl::UnavailableError("does not answer");
  EXPECT_OK(peer.Check());
  peer.Set(failure);
  peer.Set(failure);  // of a call that began at the same time
  EXPECT_EQ(peer.Check(), failure);
  clock.Advance(absl::Seconds(5));
  EXPECT_OK(peer.Check());
  EXPECT_EQ(peer.Check(), failure);
  clock.Advance(absl::Seconds(6));  // the caller is gone
  EXPECT_OK(peer.Check());
  for (int attempt = 0; attempt < 9; ++attempt) {
    peer.Set(failure);
    EXPECT_EQ(peer.Check(), failure);
    clock.Advance(absl::Seconds(30));
    EXPECT_OK(peer.Check());
  }
  peer.Set(failure);
  clock.Advance(absl::Seconds(14));
  EXPECT_EQ(peer.Check(), failure);
  peer.Clear();
  EXPECT_OK(peer.Check());
  EXPECT_OK(peer.Check());
}

}  // namespace
}  // namespace fleetperf::aggregator
