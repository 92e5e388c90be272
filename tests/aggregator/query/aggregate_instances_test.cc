// Aggregate instances, such as "_Total", beside paths that name them.

#include "aggregator/query/aggregation.h"
#include "tests/aggregator/query/range_query_fixture.h"
#include "tests/support/disk_agent.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::aggregator {
namespace {

using testing::At;
using testing::DiskAgent;
using ::testing::ElementsAre;

// Two disks with 2 and 3 transfers a second, and their total.
class AggregateInstances : public RangeQuery {
 protected:
  void SetUp() override {
    agent_.Ticks(0, 20,
                 {{agent_.Disk("C:"), 2},
                  {agent_.Disk("D:"), 3},
                  {agent_.Disk("_Total"), 5}});
    ASSERT_OK(agent_.Send());
  }

  RangeRequest Request(std::vector<std::string> paths) {
    return {.paths = std::move(paths),
            .start = At(0),
            .end = At(20),
            .step = absl::Seconds(10)};
  }

  DiskAgent agent_{&store_};
};

TEST_F(AggregateInstances, AreNamedForTheCountersOfTheirPathOnly) {
  RangeRequest request =
      Request({"\\Disk(*)\\Transfers/sec", "\\Disk(_Total)\\Queue Length"});
  request.aggregation = Aggregation{.function = AggregateFunction::kSum};
  EXPECT_THAT(Ask(request),
              ElementsAre(" \\Disk\\Queue Length", "10: 5", "20: 5",
                          " \\Disk\\Transfers/sec", "10: 5", "20: 5"));
  request.aggregation->function = AggregateFunction::kMaximum;
  EXPECT_THAT(Ask(request),
              ElementsAre(" \\Disk\\Queue Length", "10: 5", "20: 5",
                          " \\Disk\\Transfers/sec", "10: 3", "20: 3"));
}

TEST_F(AggregateInstances, AreRankedByThePathsThatNameThem) {
  RangeRequest request =
      Request({"\\Disk(*)\\Transfers/sec", "\\Disk(_Total)\\Queue Length"});
  request.choice.top = 1;
  EXPECT_THAT(Ask(request), ElementsAre("web-1 \\Disk(_Total)\\Queue Length",
                                        "10: 5", "20: 5"));
  request.paths.pop_back();
  request.paths.push_back("\\Disk(C:)\\Queue Length");
  request.choice.top = 2;
  EXPECT_THAT(Ask(request),
              ElementsAre("web-1 \\Disk(D:)\\Transfers/sec", "10: 3", "20: 3",
                          "web-1 \\Disk(C:)\\Queue Length", "10: 2", "20: 2"));
}

TEST_F(AggregateInstances, AreNamedForOneSideOfAnExpressionOnly) {
  RangeRequest request =
      Request({"\\Disk(*)\\Transfers/sec / \\Disk(_Total)\\Transfers/sec"});
  request.aggregation = Aggregation{.function = AggregateFunction::kSum};
  EXPECT_THAT(Ask(request),
              ElementsAre(" \\Disk\\Transfers/sec / \\Disk\\Transfers/sec",
                          "10: 1", "20: 1"));
}

// The totals of two nodes with one processor each, and of all.
class AggregatesOfNodes : public RangeQuery {
 protected:
  void SetUp() override {
    agent_.Ticks(0, 20,
                 {{agent_.Disk("0,0"), 2},
                  {agent_.Disk("0,_Total"), 20},
                  {agent_.Disk("1,0"), 3},
                  {agent_.Disk("1,_Total"), 30},
                  {agent_.Disk("_Total"), 50}});
    ASSERT_OK(agent_.Send());
  }

  // Returns the sum of the queue lengths of the selected instances.
  std::vector<std::string> SumOf(const std::string& instance) {
    return Ask(
        {.paths = {absl::StrCat("\\Disk(", instance, ")\\Queue Length")},
         .start = At(0),
         .end = At(20),
         .aggregation = Aggregation{.function = AggregateFunction::kSum}});
  }

  DiskAgent agent_{&store_};
};

TEST_F(AggregatesOfNodes, AreNamedByTheEndOfTheInstance) {
  const std::string path = " \\Disk\\Queue Length";
  EXPECT_THAT(SumOf("*"), ElementsAre(path, "20: 5"));
  EXPECT_THAT(SumOf("*,_Total"), ElementsAre(path, "20: 50"));
  EXPECT_THAT(SumOf("?,_total"), ElementsAre(path, "20: 50"));
  EXPECT_THAT(SumOf("*,_Total#0"), ElementsAre(path, "20: 50"));
  EXPECT_THAT(SumOf("1,_Total"), ElementsAre(path, "20: 30"));
  EXPECT_THAT(SumOf("0,*"), ElementsAre(path, "20: 2"));
  EXPECT_THAT(SumOf("_Total"), ElementsAre(path, "20: 50"));
  // These patterns only match aggregates.
  EXPECT_THAT(SumOf("0,_*"), ::testing::IsEmpty());
  EXPECT_THAT(SumOf("*_Total"), ::testing::IsEmpty());
}

}  // namespace
}  // namespace fleetperf::aggregator
