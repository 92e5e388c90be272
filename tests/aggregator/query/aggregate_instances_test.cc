// Aggregate instances, such as "_Total", beside paths that name them.

#include "aggregator/query/aggregation.h"
#include "tests/aggregator/query/range_query_fixture.h"
#include "tests/support/disk_agent.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::aggregator {
namespace {

using testing::At;
using ::testing::Contains;
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

TEST_F(AggregateInstances, AreOmittedOnRequestUnlessAPathNamesThem) {
  RangeRequest request =
      Request({"\\Disk(*)\\Queue Length", "\\Disk(_Total)\\Transfers/sec"});
  request.step = absl::ZeroDuration();
  EXPECT_THAT(Ask(request), Contains("web-1 \\Disk(_Total)\\Queue Length"));
  request.unnamed_aggregates = false;
  EXPECT_THAT(Ask(request),
              ElementsAre("web-1 \\Disk(C:)\\Queue Length", "20: 2",
                          "web-1 \\Disk(D:)\\Queue Length", "20: 3",
                          "web-1 \\Disk(_Total)\\Transfers/sec", "20: 5"));
}

TEST_F(AggregateInstances, AreRankedByThePathsThatNameThem) {
  RangeRequest request =
      Request({"\\Disk(*)\\Transfers/sec", "\\Disk(_Total)\\Queue Length"});
  request.choice.top = 1;
  EXPECT_THAT(
      Ask(request),
      ElementsAre("web-1 \\Disk(_Total)\\Queue Length", "10: 5", "20: 5",
                  "web-1 \\Disk(D:)\\Transfers/sec", "10: 3", "20: 3"));
  request.paths.pop_back();
  request.paths.push_back("\\Disk(C:)\\Queue Length");
  EXPECT_THAT(Ask(request),
              ElementsAre("web-1 \\Disk(C:)\\Queue Length", "10: 2", "20: 2",
                          "web-1 \\Disk(D:)\\Transfers/sec", "10: 3", "20: 3"));
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

// Instances a = 100 and b = 50, and an aggregate of 150.
class AggregateNames : public RangeQuery {
 protected:
  void Write(const std::string& aggregate,
             const std::vector<std::string>& of_plan = {}) {
    testing::TestAgent agent(&store_, "web-1");
    perflib::CountersetRegistration registration = testing::DiskRegistration();
    registration.aggregates = of_plan;
    const uint32_t machine = agent.Machine("web-1");
    const uint32_t disk = agent.Counterset(registration);
    const uint32_t query = agent.Query(machine, disk, absl::Seconds(1),
                                       {{testing::kQueueLength, 4}});
    const auto instance = [&](const std::string& name) {
      return agent.Instance(machine, disk, name);
    };
    const uint32_t a = instance("a");
    const uint32_t b = instance("b");
    const uint32_t all = instance(aggregate);
    for (int t = 0; t <= 20; ++t) {
      agent.AddTick(query, testing::ClocksAt(t),
                    {{a, {100}}, {b, {50}}, {all, {150}}});
    }
    ASSERT_OK(agent.Send());
  }

  RangeRequest Request(const std::string& instance = "*") {
    return {.paths = {absl::StrCat("\\Disk(", instance, ")\\Queue Length")},
            .start = At(0),
            .end = At(20)};
  }
  std::vector<std::string> Sum(const std::string& instance = "*") {
    RangeRequest request = Request(instance);
    request.aggregation = Aggregation{.function = AggregateFunction::kSum};
    return Ask(request);
  }
  std::vector<std::string> Top() {
    RangeRequest request = Request();
    request.choice.top = 1;
    return Ask(request);
  }
};

class KnownAggregateNames : public AggregateNames,
                            public ::testing::WithParamInterface<const char*> {
};

TEST_P(KnownAggregateNames, AreNotAddedTwice) {
  Write(GetParam());
  EXPECT_THAT(Sum(), ElementsAre(" \\Disk\\Queue Length", "20: 150"));
  EXPECT_THAT(Top(), ElementsAre("web-1 \\Disk(a)\\Queue Length", "20: 100"));
  // A path may name it.
  EXPECT_THAT(Sum(GetParam()), ElementsAre(" \\Disk\\Queue Length", "20: 150"));
  const auto all = Run(Request());
  ASSERT_OK(all);
  ASSERT_EQ(all->size(), 3);
  for (const SeriesResult& result : *all) {
    EXPECT_EQ(result.series.is_aggregate(),
              result.series.instance() == GetParam());
  }
}

INSTANTIATE_TEST_SUITE_P(All, KnownAggregateNames,
                         ::testing::Values("_Total", "_total", "_TOTAL",
                                           "_Global_", "_global_", "__Total__",
                                           "0,_Total", "0,_total",
                                           "_Total/_Total", "w3wp/_Global_"));

class OtherNames : public AggregateNames,
                   public ::testing::WithParamInterface<const char*> {};

TEST_P(OtherNames, AreInstances) {
  Write(GetParam());
  EXPECT_THAT(Sum(), ElementsAre(" \\Disk\\Queue Length", "20: 300"));
}

INSTANTIATE_TEST_SUITE_P(All, OtherNames,
                         ::testing::Values("Total", "_Totals", "my_Total",
                                           "_Global", "__Total_", "all", ""));

TEST_F(AggregateNames, APlanNamesMore) {
  Write("Gesamt 1", {"all", "gesamt*"});
  EXPECT_THAT(Sum(), ElementsAre(" \\Disk\\Queue Length", "20: 150"));
  EXPECT_THAT(Top(), ElementsAre("web-1 \\Disk(a)\\Queue Length", "20: 100"));
  // The pattern only matches aggregates, which are samples, too.
  EXPECT_THAT(Sum("G*"), ::testing::IsEmpty());
}

// "Adapter #2" is a name that Windows gives to a second adapter.
TEST_F(AggregateNames, AnInstanceIsAskedForByItsLiteralName) {
  Write("Adapter #2");
  const auto shown =
      ElementsAre("web-1 \\Disk(Adapter [#]2)\\Queue Length", "20: 150");
  EXPECT_THAT(Ask(Request("Adapter #2")), shown);
  EXPECT_THAT(Ask(Request("adapter #2")), shown);
  // The path of the answer selects it, too.
  EXPECT_THAT(Ask(Request("Adapter [#]2")), shown);
  EXPECT_THAT(Ask(Request("Adapter #2#0")), shown);
}

TEST_F(AggregateNames, AnInstanceWithoutANameHasAPath) {
  Write("");
  EXPECT_THAT(Ask(Request("")),
              ElementsAre("web-1 \\Disk()\\Queue Length", "20: 150"));
}

TEST_F(AggregateNames, SuggestionsCanBePasted) {
  Write("Adapter #2");
  RangeRequest request = Request("Adaptor #2");
  request.paths = {"\\Disk(Adaptor #2)\\Queue Length"};
  const auto results = Run(request);
  EXPECT_THAT(results, testing::StatusIs(
                           absl::StatusCode::kNotFound,
                           ::testing::HasSubstr(
                               "did you mean \"Adapter [#]2\"? See: fleetperf "
                               "instances 'Disk'")));
}

}  // namespace
}  // namespace fleetperf::aggregator
