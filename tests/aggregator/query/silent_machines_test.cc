// Machines that stopped before the range of a query.

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
        .now_of = [this](const std::string&) { return now_; },
        .report_missing = [](const absl::Status&) { return absl::OkStatus(); },
        .report_silent =
            [this](const std::string& machine, absl::Time newest) {
              silent_.push_back(absl::StrCat(
                  machine, " ", absl::ToInt64Seconds(newest - At(0))));
              return absl::OkStatus();
            }};
  }

  // Returns "web-2 10" for a silent machine whose newest sample is of 10 s.
  std::vector<std::string> Silent(const RangeRequest& request) {
    EXPECT_OK(testing::CollectRangeQuery(request, Context()));
    return silent_;
  }
  std::vector<std::string> SilentSince(absl::Duration since) {
    return Silent({.paths = {kQueue}, .since = since});
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
