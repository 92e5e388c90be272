// The queries that agents run while a client watches.

#include "aggregator/services/meanwhile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "absl/strings/str_cat.h"
#include "tests/support/countersets.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::aggregator {
namespace {

using testing::DiskRegistration;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using testing::StatusIs;

SelectedCounterset Disk(std::vector<Selection> selections) {
  return {.schema = std::make_shared<const Schema>(
              Schema{.registration = DiskRegistration()}),
          .selections = std::move(selections)};
}

bool IsConnected(const std::string& machine) { return machine != "away"; }

TEST(PlanMeanwhile, PlansCountersOfAllSelectionsOnce) {
  const Selected selected = {
      {"web-1",
       {Disk({{.instance = perflib::Pattern("C:"), .counter_ids = {3, 1}},
              {.instance = perflib::Pattern("*"), .counter_ids = {1, 2}}})}},
      {"away", {Disk({{.counter_ids = {1}}})}}};
  ASSERT_OK_AND_ASSIGN(const Meanwhile meanwhile,
                       PlanMeanwhile(selected, absl::Seconds(5), IsConnected));
  EXPECT_THAT(meanwhile.countersets, ElementsAre(DiskRegistration().name));
  EXPECT_EQ(meanwhile.away_machines, 1);
  ASSERT_THAT(meanwhile.queries, SizeIs(1));
  ASSERT_THAT(meanwhile.queries.at("web-1"), SizeIs(1));
  const v1::PlannedQuery& query = meanwhile.queries.at("web-1")[0];
  EXPECT_EQ(query.counterset(), DiskRegistration().guid.ToString());
  EXPECT_THAT(query.counters(), ElementsAre("id:1", "id:2", "id:3"));
  EXPECT_THAT(query.instances(), ElementsAre());
  EXPECT_EQ(query.interval().seconds(), 5);
  EXPECT_EQ(query.name(), "--collect");
  EXPECT_TRUE(query.meanwhile());
}

TEST(PlanMeanwhile, RequiresAConnectedAgent) {
  EXPECT_THAT(PlanMeanwhile({{"away", {Disk({{.counter_ids = {1}}})}}},
                            absl::Seconds(1), IsConnected),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr("no agent that could collect this is "
                                 "connected")));
}

TEST(PlanMeanwhile, LimitsMachinesAndCountersets) {
  Selected selected;
  for (int i = 0; i < 1000; ++i) {
    selected[absl::StrCat("web-", i)] = {Disk({{.counter_ids = {1}}})};
  }
  selected["away"] = {Disk({{.counter_ids = {1}}})};
  EXPECT_OK(PlanMeanwhile(selected, absl::Seconds(1), IsConnected));
  selected["one-more"] = {Disk({{.counter_ids = {1}}})};
  EXPECT_THAT(PlanMeanwhile(selected, absl::Seconds(1), IsConnected),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("more than 1000 machines")));
  selected = {{"web-1", std::vector<SelectedCounterset>(
                            20, Disk({{.counter_ids = {1}}}))}};
  EXPECT_OK(PlanMeanwhile(selected, absl::Seconds(1), IsConnected));
  selected["web-1"].push_back(Disk({{.counter_ids = {1}}}));
  EXPECT_THAT(PlanMeanwhile(selected, absl::Seconds(1), IsConnected),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("more than 20 countersets of a machine")));
}

}  // namespace
}  // namespace fleetperf::aggregator
