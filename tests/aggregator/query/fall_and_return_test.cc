// A counter that falls and returns, in all forms in which samples are stored.

#include <cstdint>
#include <string>
#include <vector>

#include "aggregator/query/explain.h"
#include "tests/aggregator/query/range_query_fixture.h"
#include "tests/support/one_disk_agent.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::aggregator {
namespace {

using testing::At;
using ::testing::ElementsAre;
using testing::OneDiskAgent;

constexpr char kPath[] = "\\Disk(C:)\\Transfers/sec";
constexpr int kHour = 3600;  // chunks end here

class FallAndReturn : public RangeQuery {
 protected:
  // Adds ticks of a counter that grows by 100 per second, and that is read as 0
  // in the ticks from `dip` to before `end_of_dip`.
  void Count(int first, int last, int dip, int end_of_dip) {
    for (int t = first; t <= last; ++t) {
      const bool is_read = t < dip || t >= end_of_dip;
      agent_.Tick(t, is_read ? 1'000'000'000'000 + 100 * uint64_t(t) : 0);
    }
    ASSERT_OK(agent_.Send(At(last)));
  }

  std::vector<std::string> Points(int start, int end, int step) {
    std::vector<std::string> points = Ask({.paths = {kPath},
                                           .start = At(start),
                                           .end = At(end),
                                           .step = absl::Seconds(step)});
    if (!points.empty()) points.erase(points.begin());
    return points;
  }

  OneDiskAgent agent_{&store_, "web-1"};
};

TEST_F(FallAndReturn, AWindowHasTheRateOfTheOtherPieces) {
  Count(0, 40, /*dip=*/10, 11);
  EXPECT_THAT(Points(0, 40, 40),
              ElementsAre("40: 100 reset breaks=2 coverage=0.95"));
  EXPECT_THAT(Points(8, 13, 1),
              ElementsAre("9: 100", "10: negative_value", "11: negative_value",
                          "12: 100", "13: 100"));
}

TEST_F(FallAndReturn, ARangeMayBeginInTheDip) {
  Count(0, 40, /*dip=*/10, 13);
  for (int start = 9; start <= 12; ++start) {
    EXPECT_THAT(Points(start, 13, 1).back(), "13: negative_value") << start;
  }
  EXPECT_THAT(Points(12, 22, 10),
              ElementsAre("22: 100 reset breaks=1 coverage=0.9"));
}

TEST_F(FallAndReturn, TheDipMayBeInAnyBatchOrChunk) {
  // The chunk after the full hour begins in the dip. Its other ticks are read
  // as their sum.
  for (const int dip : {kHour - 1, kHour, kHour + 1}) {
    for (const int ticks : {1, 2}) {
      testing::TestStore store;
      OneDiskAgent agent(&store, "web-1");
      for (int t = kHour - 30; t <= kHour + 100; ++t) {
        const bool is_read = t < dip || t >= dip + ticks;
        agent.Tick(t, is_read ? 1'000'000 + 100 * uint64_t(t) : 0);
        if (t % 7 != 0 && t != kHour) continue;
        ASSERT_OK(agent.Send(At(t)));
      }
      ASSERT_OK(agent.Send(At(kHour + 100)));
      ASSERT_OK(store.Compact());
      const auto results = testing::CollectRangeQuery(
          {.paths = {kPath}, .start = At(kHour - 30), .end = At(kHour + 100)},
          {.store = *store,
           .now_of = [](const std::string&) { return At(0); }});
      ASSERT_OK(results);
      const WindowValue& total = results->front().total;
      EXPECT_EQ(total.breaks, 2) << dip << " " << ticks;
      // The ticks in the dip have growth 0.
      EXPECT_NEAR(total.result.value, 100.0 * (129 - ticks) / 128, 1e-9)
          << dip << " " << ticks;
    }
  }
}

TEST_F(FallAndReturn, AResetAtTheStartOfAChunkIsOneBreak) {
  for (int t = kHour - 30; t <= kHour + 100; ++t) {
    agent_.Tick(t, t < kHour ? 1000 + t : 100 * uint64_t(t - kHour));
  }
  ASSERT_OK(agent_.Send(At(kHour + 100)));
  ASSERT_OK(store_.Compact());
  EXPECT_THAT(Points(kHour, kHour + 100, 100), ElementsAre("3700: 100"));
  EXPECT_THAT(Points(kHour - 100, kHour + 100, 200),
              ElementsAre("3700: 77.74419 reset breaks=1 coverage=0.645"));
}

TEST_F(FallAndReturn, ThinnedDataHasBothBreaks) {
  Count(0, 59, /*dip=*/59, 61);
  Count(60, 300, /*dip=*/59, 61);
  ASSERT_OK(store_.Compact());
  ASSERT_OK(store_.Thin(Resolution::kMinute));
  const auto expected =
      ElementsAre("60: 98.30508 reset breaks=1 coverage=0.983",
                  "120: 100 reset breaks=1 coverage=0.983", "180: 100",
                  "240: 100", "300: 100");
  EXPECT_THAT(Points(0, 300, 60), expected);
}

// The minute that ends in the dip is thinned before the return arrives.
TEST_F(FallAndReturn, ThinnedDataMayEndInTheDip) {
  Count(0, 60, /*dip=*/60, 61);
  ASSERT_OK(store_.Compact());
  ASSERT_OK(store_.Thin(Resolution::kMinute));
  Count(61, 300, /*dip=*/60, 61);
  const auto expected = ElementsAre("60: 100 reset breaks=1 coverage=0.983",
                                    "120: 100 reset breaks=1 coverage=0.983",
                                    "180: 100", "240: 100", "300: 100");
  EXPECT_THAT(Points(0, 300, 60), expected);
  ASSERT_OK(store_.Compact());
  EXPECT_THAT(Points(0, 300, 60), expected);
  ASSERT_OK(store_.Thin(Resolution::kMinute));
  EXPECT_THAT(Points(0, 300, 60), expected);
}

// The growth after the reset, in the same minute, has ended the fall.
TEST_F(FallAndReturn, ThinnedDataMayEndAfterAReset) {
  const auto count = [&](int first, int last) {
    for (int t = first; t <= last; ++t) {
      const auto value = 100 * static_cast<uint64_t>(t);
      agent_.Tick(t, t < 30 ? 1'000'000 + value : value - 3000);
    }
    ASSERT_OK(agent_.Send(At(last)));
  };
  count(0, 60);
  ASSERT_OK(store_.Compact());
  ASSERT_OK(store_.Thin(Resolution::kMinute));
  count(61, 120);
  EXPECT_THAT(Points(0, 120, 60),
              ElementsAre("60: 100 reset breaks=1 coverage=0.983", "120: 100"));
}

TEST_F(FallAndReturn, ExplainShowsTheReturnAsABreak) {
  Count(0, 20, /*dip=*/10, 12);
  const auto explain = [&](int at) {
    const auto response = RunExplain(kPath, At(at), *store_,
                                     [](const std::string&) { return At(20); });
    EXPECT_OK(response);
    return response.ok() ? response->explanations(0).status()
                         : v1::VALUE_STATUS_UNSPECIFIED;
  };
  EXPECT_EQ(explain(10), v1::VALUE_STATUS_NEGATIVE_VALUE);
  EXPECT_EQ(explain(12), v1::VALUE_STATUS_NEGATIVE_VALUE);
  EXPECT_EQ(explain(13), v1::VALUE_STATUS_OK);
}

}  // namespace
}  // namespace fleetperf::aggregator
