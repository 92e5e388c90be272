// Machines whose samples are all before the range of a query, or outside of it
// because their clocks are wrong.

#include "aggregator/query/silent_machines.h"

#include <gmock/gmock.h>

#include "aggregator/query/raw_query.h"
#include "tests/aggregator/query/range_query_fixture.h"
#include "tests/support/disk_agent.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::aggregator {
namespace {

using testing::At;
using testing::DiskAgent;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::kQueue;

// web-1 has samples of the last 10 s. web-2 stopped at 10 s.
class SilentMachines : public RangeQuery {
 protected:
  void SetUp() override {
    stopped_.Ticks(0, 10, {{stopped_.Disk("C:"), 2}});
    ASSERT_OK(stopped_.Send());
    GoOnTo(60);
  }

  void GoOnTo(int second) {
    living_.Ticks(second - 10, second, {{disk_, 1}});
    ASSERT_OK(living_.Send());
    now_ = At(second);
  }

  QueryContext Context() {
    silent_.clear();
    return {
        .store = *store_,
        .now_of =
            [this](const std::string& machine) {
              if (machine == "web-4") return now_ - behind_;
              return machine == "web-3" ? now_ + kAhead : now_;
            },
        .report_missing = [](const absl::Status&) { return absl::OkStatus(); },
        .report_silent =
            [this](const SilentMachine& machine) {
              silent_.push_back(absl::StrCat(
                  machine.machine, " ",
                  absl::ToInt64Seconds(machine.newest_sample - At(0)),
                  machine.has_samples ? " partly" : ""));
              if (machine.clock_skew.has_value()) {
                absl::StrAppend(&silent_.back(), ", ",
                                absl::FormatDuration(*machine.clock_skew));
              }
              return absl::OkStatus();
            }};
  }

  // Returns "web-2 10" for a silent machine whose newest sample is of 10 s, and
  // "web-3 3660, 1h" for one whose clock is ahead.
  std::vector<std::string> Silent(const RangeRequest& request) {
    EXPECT_OK(testing::CollectRangeQuery(request, Context()));
    return silent_;
  }
  std::vector<std::string> SilentSince(absl::Duration since) {
    return Silent({.paths = {kQueue}, .since = since});
  }

  // The clock of web-3 is an hour ahead.
  static constexpr int kHour = 3600;
  static constexpr absl::Duration kAhead = absl::Seconds(kHour);
  // That of web-4 is behind.
  absl::Duration behind_ = absl::Minutes(10);

  // Returns the machines that are named beside the fleet's sum and count.
  std::vector<std::string> SilentInGroups(RangeRequest request) {
    request.aggregation = Aggregation{.function = AggregateFunction::kCount};
    const std::vector<std::string> of_count = Silent(request);
    request.aggregation = Aggregation{.function = AggregateFunction::kSum};
    EXPECT_EQ(Silent(request), of_count);
    return of_count;
  }

  DiskAgent living_{&store_, "web-1"};
  DiskAgent stopped_{&store_, "web-2"};
  const uint32_t disk_ = living_.Disk("C:");
  std::vector<std::string> silent_;
};

TEST_F(SilentMachines, AreThoseWithoutSamplesInTheRange) {
  EXPECT_THAT(SilentSince(absl::Seconds(51)), IsEmpty());
  // The range does not include its start.
  EXPECT_THAT(SilentSince(absl::Seconds(50)), ElementsAre("web-2 10"));
  EXPECT_THAT(SilentSince(absl::Seconds(5)), ElementsAre("web-2 10"));
  EXPECT_OK(testing::CollectRawQuery(
      {.paths = {kQueue}, .since = absl::Seconds(5)}, Context()));
  EXPECT_THAT(silent_, ElementsAre("web-2 10"));
}

TEST_F(SilentMachines, AreReportedForGroupsAndExpressions) {
  RangeRequest request{.paths = {kQueue}, .since = absl::Seconds(5)};
  request.aggregation = Aggregation{.function = AggregateFunction::kSum};
  EXPECT_THAT(Silent(request), ElementsAre("web-2 10"));
  EXPECT_THAT(Silent({.paths = {absl::StrCat(kQueue, " + ", kQueue)},
                      .since = absl::Seconds(5)}),
              ElementsAre("web-2 10"));
}

TEST_F(SilentMachines, AreThoseWhoseClockIsAhead) {
  DiskAgent ahead(&store_, "web-3");
  ahead.Ticks(kHour + 50, kHour + 60, {{ahead.Disk("C:"), 1}});
  ASSERT_OK(ahead.Send());
  const absl::Duration since = absl::Seconds(20);
  EXPECT_THAT(SilentInGroups({.paths = {kQueue}, .since = since}),
              ElementsAre("web-2 10", "web-3 3660, 1h"));
  const RangeRequest fixed{.paths = {kQueue}, .start = At(40), .end = At(60)};
  EXPECT_THAT(SilentInGroups(fixed), ElementsAre("web-2 10", "web-3 3660, 1h"));
  EXPECT_THAT(Silent(fixed), ElementsAre("web-2 10", "web-3 3660, 1h"));
  Context();  // forgets the names
  EXPECT_OK(testing::CollectRawQuery(fixed, Context()));
  EXPECT_THAT(silent_, ElementsAre("web-2 10", "web-3 3660, 1h"));
  // Without groups, each machine's own clock counts.
  EXPECT_THAT(SilentSince(since), ElementsAre("web-2 10"));
  // A path names it.
  EXPECT_THAT(
      SilentInGroups({.paths = {kQueue, absl::StrCat("\\\\web-3", kQueue)},
                      .since = since}),
      ElementsAre("web-2 10"));
}

// web-4 sends its samples now, but they are ten minutes old by the other
// clocks.
TEST_F(SilentMachines, AreThoseWhoseClockIsBehind) {
  const int shift = static_cast<int>(absl::ToInt64Seconds(behind_));
  GoOnTo(shift + 60);
  DiskAgent behind(&store_, "web-4");
  behind.Ticks(0, 60, {{behind.Disk("C:"), 1}});
  ASSERT_OK(behind.Send());
  const absl::Duration since = absl::Minutes(5);
  EXPECT_THAT(SilentInGroups({.paths = {kQueue}, .since = since}),
              ElementsAre("web-2 10", "web-4 60, -10m"));
  // It has samples only before the last ten minutes.
  EXPECT_THAT(SilentInGroups({.paths = {kQueue}, .since = absl::Hours(1)}),
              ElementsAre("web-4 60 partly, -10m"));
  // The end of this range has all of its samples.
  EXPECT_THAT(
      SilentInGroups({.paths = {kQueue}, .start = At(20), .end = At(60)}),
      ElementsAre("web-2 10"));
  EXPECT_THAT(SilentSince(since), ElementsAre("web-2 10"));
}

// It is not decommissioned: its samples arrive now.
TEST_F(SilentMachines, AreThoseWhoseClockIsMoreThanAWeekBehind) {
  behind_ = absl::Hours(9 * 24);
  GoOnTo(static_cast<int>(absl::ToInt64Seconds(behind_)) + 60);
  DiskAgent behind(&store_, "web-4");
  behind.Ticks(0, 60, {{behind.Disk("C:"), 1}});
  ASSERT_OK(behind.Send());
  EXPECT_THAT(SilentInGroups({.paths = {kQueue}, .since = absl::Minutes(5)}),
              ElementsAre("web-4 60, -216h"));
}

TEST_F(SilentMachines, AreNotThoseThatAreAheadWithOtherSamplesInTheRange) {
  DiskAgent ahead(&store_, "web-3");
  const uint32_t disk = ahead.Disk("C:");
  ahead.Ticks(40, 60, {{disk, 1}});
  ahead.Ticks(kHour + 50, kHour + 60, {{disk, 1}});
  ASSERT_OK(ahead.Send());
  EXPECT_THAT(SilentInGroups({.paths = {kQueue}, .since = absl::Seconds(20)}),
              ElementsAre("web-2 10"));
}

TEST_F(SilentMachines, AreNotThoseThatAreAheadAndAppearedAfterTheRange) {
  DiskAgent ahead(&store_, "web-3");
  ahead.Ticks(kHour + 50, kHour + 60, {{ahead.Disk("C:"), 1}});
  ASSERT_OK(ahead.Send());
  EXPECT_THAT(
      SilentInGroups({.paths = {kQueue}, .start = At(0), .end = At(20)}),
      IsEmpty());
}

TEST_F(SilentMachines, AreNotThoseThatAPathNames) {
  const std::string named = absl::StrCat("\\\\WEB-2", kQueue);
  EXPECT_THAT(Silent({.paths = {kQueue, named}, .since = absl::Seconds(5)}),
              IsEmpty());
  const std::string wild = absl::StrCat("\\\\web-*", kQueue);
  EXPECT_THAT(Silent({.paths = {wild}, .since = absl::Seconds(5)}),
              ElementsAre("web-2 10"));
}

TEST_F(SilentMachines, AreNotThoseThatAppearedAfterTheRange) {
  EXPECT_THAT(Silent({.paths = {kQueue}, .start = At(0), .end = At(20)}),
              IsEmpty());
}

TEST_F(SilentMachines, AreNotReportedWithoutAnyAnswer) {
  EXPECT_THAT(Silent({.paths = {kQueue}, .start = At(60), .end = At(70)}),
              IsEmpty());
}

TEST_F(SilentMachines, CountAsDecommissionedAfterAWeek) {
  const int week = 7 * 24 * 60 * 60;
  GoOnTo(10 + week + 5);
  EXPECT_THAT(SilentSince(absl::Seconds(5)), ElementsAre("web-2 10"));
  EXPECT_THAT(SilentSince(absl::Seconds(4)), IsEmpty());
}

}  // namespace
}  // namespace fleetperf::aggregator
