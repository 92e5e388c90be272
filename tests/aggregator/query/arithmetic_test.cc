// Arithmetic with the values of series.

#include "absl/strings/str_cat.h"
#include "aggregator/query/range_query.h"
#include "tests/support/countersets.h"
#include "tests/support/disk_agent.h"
#include "tests/support/points_text.h"
#include "tests/support/query_results.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_store.h"

namespace fleetperf::aggregator {
namespace {

using ::testing::AllOf;
using testing::At;
using testing::ClocksAt;
using testing::DiskAgent;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::StatusIs;
using testing::TestAgent;
using testing::TestStore;
using testing::ToText;

class ArithmeticTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::vector<SeriesResult>> Run(const std::string& text,
                                                RangeRequest request = {}) {
    request.paths = {text};
    request.start = At(0);
    request.end = At(20);
    request.step = absl::Seconds(10);
    return testing::CollectRangeQuery(
        request, {.store = *store_,
                  .now_of = [](const std::string&) { return At(60); }});
  }

  // "web-1 \Disk(C:)\A / \Disk(C:)\B [B]" and its points.
  std::vector<std::string> Ask(const std::string& text,
                               const RangeRequest& request = {}) {
    const auto results = Run(text, request);
    if (!results.ok()) return {results.status().ToString()};
    std::vector<std::string> texts;
    for (const SeriesResult& result : *results) {
      texts.push_back(absl::StrCat(result.series.machine(), " ",
                                   result.series.path(), " [",
                                   result.series.unit(), "]"));
      for (std::string& point : ToText(result.points)) {
        texts.push_back(std::move(point));
      }
    }
    return texts;
  }

  TestStore store_;
};

// A machine with a given rate of page faults.
struct MemoryAgent : DiskAgent {
  using DiskAgent::DiskAgent;

  void Faults(int first, int last, uint64_t rate) {
    for (int t = first; t <= last; ++t) {
      AddTick(memory_query, ClocksAt(t + 0.5),  // at different times
              {{memory, {1000, static_cast<uint64_t>(t + 1) * rate}}});
    }
  }

  const uint32_t set = Counterset(testing::MemoryRegistration());
  const uint32_t memory_query =
      Query(machine_id, set, absl::Seconds(1),
            {{testing::kAvailableBytes}, {testing::kPageFaults}});
  const uint32_t memory = Instance(machine_id, set);
};

TEST_F(ArithmeticTest, CalculatesWithSeriesOfOneMachineAndInstance) {
  for (const std::string machine : {"web-1", "web-2"}) {
    DiskAgent agent(&store_, machine);
    const uint32_t c = agent.Disk("C:"), d = agent.Disk("D:");
    for (int t = 0; t <= 20; ++t) {
      const auto n = static_cast<uint64_t>(t);
      // 8 and 6 transfers per second, queue lengths of 2 and 4.
      agent.AddTick(agent.query, ClocksAt(t),
                    {{c, {8 * n, 2}}, {d, {6 * n, 4}}});
    }
    ASSERT_OK(agent.Send());
  }
  EXPECT_THAT(
      Ask(R"(\\web-2\Disk(*)\Transfers/sec / \Disk(*)\Queue Length)"),
      ElementsAre(
          R"(web-2 \Disk(C:)\Transfers/sec / \Disk(C:)\Queue Length [1/s])",
          "10: 4", "20: 4",
          R"(web-2 \Disk(D:)\Transfers/sec / \Disk(D:)\Queue Length [1/s])",
          "10: 1.5", "20: 1.5"));
  const auto first = [&](const std::string& text) {
    const auto texts = Ask(text);
    return texts.size() > 2 ? texts[0] + " " + texts[2] : texts[0];
  };
  EXPECT_EQ(
      first(R"(\Disk(C:)\Transfers/sec * \Disk(C:)\Queue Length)"),
      R"(web-1 \Disk(C:)\Transfers/sec * \Disk(C:)\Queue Length [1/s] 20: 16)");
  EXPECT_EQ(
      first(R"(\Disk(C:)\Transfers/sec - \Disk(D:)\Transfers/sec)"),
      R"(web-1 \Disk(C:)\Transfers/sec - \Disk(D:)\Transfers/sec [1/s] 20: 2)");
  EXPECT_EQ(
      first(R"(\Disk(C:)\Transfers/sec + \Disk(D:)\Transfers/sec)"),
      R"(web-1 \Disk(C:)\Transfers/sec + \Disk(D:)\Transfers/sec [1/s] 20: 14)");
  EXPECT_EQ(
      first(R"(\Disk(C:)\Transfers/sec / \Disk(C:)\Transfers/sec)"),
      R"(web-1 \Disk(C:)\Transfers/sec / \Disk(C:)\Transfers/sec [] 20: 1)");
}

TEST_F(ArithmeticTest, PairsASingleSeriesWithAllOfTheOtherSide) {
  MemoryAgent agent(&store_);
  const uint32_t total = agent.Disk("_Total");
  agent.Ticks(0, 20,
              {{agent.Disk("C:"), 2}, {agent.Disk("D:"), 6}, {total, 8}});
  agent.Faults(-1, 20, 4);
  ASSERT_OK(agent.Send());
  EXPECT_THAT(
      Ask(R"(\Disk(?:)\Transfers/sec / \Memory\Page Faults/sec)"),
      ElementsAre(
          R"(web-1 \Disk(C:)\Transfers/sec / \Memory\Page Faults/sec [])",
          "10: 0.5", "20: 0.5",
          R"(web-1 \Disk(D:)\Transfers/sec / \Memory\Page Faults/sec [])",
          "10: 1.5", "20: 1.5"));
  EXPECT_THAT(
      Ask(R"(\Disk(D:)\Transfers/sec / \Disk(_Total)\Transfers/sec)"),
      ElementsAre(
          R"(web-1 \Disk(D:)\Transfers/sec / \Disk(_Total)\Transfers/sec [])",
          "10: 0.75", "20: 0.75"));
  // The result has the instances of the side with instances.
  ASSERT_OK_AND_ASSIGN(
      const auto results,
      Run(R"(\Memory\Page Faults/sec / \Disk(*)\Transfers/sec)"));
  ASSERT_EQ(results.size(), 3);
  EXPECT_EQ(results[0].series.instance(), "C:");
  EXPECT_EQ(ToText(results[0].points[1]), "20: 2");
}

TEST_F(ArithmeticTest, AGapOnEitherSideIsAGap) {
  MemoryAgent agent(&store_);
  const uint32_t c = agent.Disk("C:");
  agent.Ticks(0, 5, {{c, 2}});
  agent.Ticks(16, 20, {{c, 2}});
  agent.Faults(-1, 8, 4);
  agent.Faults(29, 40, 4);
  ASSERT_OK(agent.Send());
  EXPECT_THAT(
      Ask(R"(\Disk(C:)\Transfers/sec / \Memory\Page Faults/sec)"),
      ElementsAre(
          R"(web-1 \Disk(C:)\Transfers/sec / \Memory\Page Faults/sec [])",
          "10: 0.5 coverage=0.5", "20: gap no_samples breaks=1 coverage=0"));
}

TEST_F(ArithmeticTest, ReportsGapsOfEitherSide) {
  MemoryAgent agent(&store_);
  agent.Ticks(0, 20, {{agent.Disk("C:"), 2}});
  agent.Faults(-1, 5, 4);
  agent.Faults(6, 20, 2);  // from 24 down to 14
  ASSERT_OK(agent.Send());
  const char* kExpected = "10: 0.6 reset breaks=1 coverage=0.9";  // 2 by 30 / 9
  EXPECT_THAT(Ask(R"(\Disk(C:)\Transfers/sec / \Memory\Page Faults/sec)"),
              ElementsAre(HasSubstr("[]"), kExpected, "20: 1"));
  EXPECT_THAT(Ask(R"(\Memory\Page Faults/sec - \Memory\Page Faults/sec)"),
              ElementsAre(HasSubstr("[1/s]"),
                          "10: 0 reset breaks=2 coverage=0.9", "20: 0"));
}

TEST_F(ArithmeticTest, DivisionByZeroIsAStatus) {
  DiskAgent agent(&store_);
  const uint32_t c = agent.Disk("C:");
  for (int t = 0; t <= 20; ++t) {
    agent.AddTick(agent.query, ClocksAt(t),
                  {{c, {static_cast<uint64_t>(2 * t), t > 10 ? 4 : 0}}});
  }
  ASSERT_OK(agent.Send());
  EXPECT_THAT(
      Ask(R"(\Disk(C:)\Transfers/sec / \Disk(C:)\Queue Length)"),
      ElementsAre(
          R"(web-1 \Disk(C:)\Transfers/sec / \Disk(C:)\Queue Length [1/s])",
          "10: zero_denominator", "20: 0.5"));
}

TEST_F(ArithmeticTest, RefusesToAddDifferentUnits) {
  MemoryAgent agent(&store_);
  agent.Ticks(0, 20, {{agent.Disk("C:"), 2}});
  agent.Faults(-1, 20, 4);
  ASSERT_OK(agent.Send());
  EXPECT_THAT(
      Run(R"(\Memory\Available Bytes + \Memory\Page Faults/sec)"),
      StatusIs(absl::StatusCode::kInvalidArgument,
               R"(\Memory\Available Bytes + \Memory\Page Faults/sec: the )"
               R"(values are B and 1/s; only values of one unit can be added )"
               R"(or subtracted)"));
  EXPECT_THAT(Run(R"(\Disk(C:)\Queue Length - \Memory\Available Bytes)"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("plain numbers and B")));
  EXPECT_THAT(Ask(R"(\Memory\Available Bytes / \Memory\Page Faults/sec)"),
              ElementsAre(HasSubstr("[B/(1/s)]"), "10: 250", "20: 250"));
  EXPECT_THAT(Ask(R"(\Memory\Available Bytes * \Disk(C:)\Queue Length)"),
              ElementsAre(HasSubstr("[B]"), "10: 2000", "20: 2000"));
}

TEST_F(ArithmeticTest, AppliesToCombinedSeries) {
  for (const auto& [machine, rate] :
       std::vector<std::pair<std::string, uint64_t>>{{"web-1", 2},
                                                     {"web-2", 8}}) {
    DiskAgent agent(&store_, machine);
    const uint32_t c = agent.Disk("C:"), d = agent.Disk("D:");
    for (int t = 0; t <= 20; ++t) {
      const auto n = static_cast<uint64_t>(t);
      agent.AddTick(agent.query, ClocksAt(t),
                    {{c, {rate * n, 1}}, {d, {3 * n, 4}}});
    }
    ASSERT_OK(agent.Send());
  }
  RangeRequest request;
  request.aggregation = Aggregation{.function = AggregateFunction::kSum};
  const std::string text = R"(\Disk(*)\Transfers/sec / \Disk(*)\Queue Length)";
  // (2 + 3 + 8 + 3) / (1 + 4 + 1 + 4)
  EXPECT_THAT(Ask(text, request),
              ElementsAre(R"( \Disk\Transfers/sec / \Disk\Queue Length [1/s])",
                          "10: 1.6", "20: 1.6"));
  request.aggregation->by_machine = true;
  request.choice.top = 1;
  EXPECT_THAT(
      Ask(text, request),
      ElementsAre(R"(web-2 \Disk\Transfers/sec / \Disk\Queue Length [1/s])",
                  "10: 2.2", "20: 2.2"));
}

TEST_F(ArithmeticTest, CombinesWithPathsAndOtherExpressions) {
  DiskAgent agent(&store_);
  agent.Ticks(0, 20, {{agent.Disk("C:"), 2}});
  ASSERT_OK(agent.Send());
  const auto results = testing::CollectRangeQuery(
      {.paths = {R"(\Disk(*)\Queue Length)",
                 R"(\Disk(*)\Transfers/sec / \Disk(*)\Queue Length)",
                 R"(\Disk(*)\Transfers/sec * \Disk(*)\Queue Length)"},
       .start = At(0),
       .end = At(20)},
      {.store = *store_, .now_of = [](const std::string&) { return At(60); }});
  ASSERT_OK(results);
  std::vector<std::string> texts;
  for (const SeriesResult& result : *results) {
    texts.push_back(
        absl::StrCat(result.series.path(), " ", ToText(result.points.front())));
  }
  EXPECT_THAT(
      texts,
      ElementsAre(R"(\Disk(C:)\Queue Length 20: 2)",
                  R"(\Disk(C:)\Transfers/sec * \Disk(C:)\Queue Length 20: 4)",
                  R"(\Disk(C:)\Transfers/sec / \Disk(C:)\Queue Length 20: 1)"));
}

class NestedArithmeticTest : public ArithmeticTest {
 protected:
  // C: has 2 transfers a second and 1 waiting, D: 6 and 4.
  void SetUp() override {
    DiskAgent agent(&store_);
    const uint32_t c = agent.Disk("C:"), d = agent.Disk("D:");
    for (int t = 0; t <= 20; ++t) {
      const auto n = static_cast<uint64_t>(t);
      agent.AddTick(agent.query, ClocksAt(t),
                    {{c, {2 * n, 1}}, {d, {6 * n, 4}}});
    }
    ASSERT_OK(agent.Send());
  }

  // Returns "PATH [UNIT] 20: VALUE" of each result.
  std::vector<std::string> Last(const std::string& text,
                                const RangeRequest& request = {}) {
    const auto results = Run(text, request);
    if (!results.ok()) return {results.status().ToString()};
    std::vector<std::string> texts;
    for (const SeriesResult& result : *results) {
      texts.push_back(absl::StrCat(result.series.path(), " [",
                                   result.series.unit(), "] ",
                                   ToText(result.points.back())));
    }
    return texts;
  }
};

TEST_F(NestedArithmeticTest, CalculatesWithConstants) {
  EXPECT_THAT(Last(R"(100 - \Disk(C:)\Transfers/sec)"),
              ElementsAre(R"(100 - \Disk(C:)\Transfers/sec [1/s] 20: 98)"));
  EXPECT_THAT(Last(R"(\Disk(*)\Transfers/sec + 0.5)"),
              ElementsAre(R"(\Disk(C:)\Transfers/sec + 0.5 [1/s] 20: 2.5)",
                          R"(\Disk(D:)\Transfers/sec + 0.5 [1/s] 20: 6.5)"));
  EXPECT_THAT(Last(R"(\Disk(D:)\Transfers/sec / 1e1)"),
              ElementsAre(R"(\Disk(D:)\Transfers/sec / 1e1 [1/s] 20: 0.6)"));
  EXPECT_THAT(Last(R"(2 * \Disk(D:)\Queue Length)"),
              ElementsAre(R"(2 * \Disk(D:)\Queue Length [] 20: 8)"));
  EXPECT_THAT(Last(R"(1 / \Disk(C:)\Transfers/sec)"),
              ElementsAre(R"(1 / \Disk(C:)\Transfers/sec [s] 20: 0.5)"));
  EXPECT_THAT(
      Last(R"((2 - 5) * 2 + \Disk(C:)\Transfers/sec)"),
      ElementsAre(R"((2 - 5) * 2 + \Disk(C:)\Transfers/sec [1/s] 20: -4)"));
  EXPECT_THAT(
      Last(R"(\Disk(C:)\Transfers/sec / 0)"),
      ElementsAre(R"(\Disk(C:)\Transfers/sec / 0 [1/s] 20: zero_denominator)"));
  EXPECT_THAT(
      Last(R"(1 / 0 * \Disk(C:)\Queue Length)"),
      ElementsAre(R"(1 / 0 * \Disk(C:)\Queue Length [] 20: zero_denominator)"));
}

TEST_F(NestedArithmeticTest, CalculatesInOrder) {
  EXPECT_THAT(
      Last(R"(('\Disk(C:)\Transfers/sec' + (\Disk(D:)\Transfers/sec)) / 2)"),
      ElementsAre(R"((\Disk(C:)\Transfers/sec + \Disk(D:)\Transfers/sec) / 2)"
                  " [1/s] 20: 4"));
  EXPECT_THAT(
      Last(R"(\Disk(*)\Transfers/sec - \Disk(*)\Transfers/sec / )"
           R"(\Disk(*)\Queue Length * 0.5)"),
      ElementsAre(R"(\Disk(C:)\Transfers/sec - \Disk(C:)\Transfers/sec / )"
                  R"(\Disk(C:)\Queue Length * 0.5 [1/s] 20: 1)",
                  R"(\Disk(D:)\Transfers/sec - \Disk(D:)\Transfers/sec / )"
                  R"(\Disk(D:)\Queue Length * 0.5 [1/s] 20: 5.25)"));
  EXPECT_THAT(Last(R"(10 - (\Disk(D:)\Queue Length - 3))"),
              ElementsAre(R"(10 - (\Disk(D:)\Queue Length - 3) [] 20: 9)"));
}

TEST_F(NestedArithmeticTest, PairsAFixedResultWithAllInstances) {
  // 2 and 6 by 2 + 6.
  EXPECT_THAT(Last(R"(\Disk(*)\Transfers/sec / (\Disk(C:)\Transfers/sec + )"
                   R"(\Disk(D:)\Transfers/sec))"),
              ElementsAre(AllOf(HasSubstr(R"(\Disk(C:)\Transfers/sec / ()"),
                                HasSubstr("[] 20: 0.25")),
                          AllOf(HasSubstr(R"(\Disk(D:)\Transfers/sec / ()"),
                                HasSubstr("[] 20: 0.75"))));
  // Both sides are fixed to several instances, the first of which differ.
  const auto results =
      Run(R"((\Disk(C:)\Transfers/sec - \Disk(D:)\Transfers/sec) / )"
          R"((\Disk(D:)\Transfers/sec + \Disk(C:)\Transfers/sec))");
  ASSERT_OK(results);
  ASSERT_EQ(results->size(), 1);
  EXPECT_EQ((*results)[0].series.instance(), "C:");
  EXPECT_EQ(ToText((*results)[0].points.back()), "20: -0.5");
}

TEST_F(NestedArithmeticTest, AppliesToCombinedSeries) {
  RangeRequest request;
  request.aggregation = Aggregation{.function = AggregateFunction::kSum};
  // 100 - 2 * (2 + 6) / (1 + 4)
  EXPECT_THAT(
      Last(R"(100 - 2 * \Disk(*)\Transfers/sec / \Disk(*)\Queue Length)",
           request),
      ElementsAre(R"(100 - 2 * \Disk\Transfers/sec / )"
                  R"(\Disk\Queue Length [1/s] 20: 96.8)"));
}

TEST_F(ArithmeticTest, DistinguishesFixedInstancesOfOneName) {
  DiskAgent agent(&store_);
  agent.Ticks(0, 20, {{agent.Disk("x", 1), 2}, {agent.Disk("x", 2), 6}});
  ASSERT_OK(agent.Send());
  EXPECT_THAT(
      Ask(R"(\Disk(x#1)\Transfers/sec - \Disk(X#0)\Transfers/sec)"),
      ElementsAre(
          R"(web-1 \Disk(x#1)\Transfers/sec - \Disk(x)\Transfers/sec [1/s])",
          "10: 4", "20: 4"));
  EXPECT_THAT(
      Ask(R"(\Disk(x)\Transfers/sec - \Disk(X)\Transfers/sec)"),
      ElementsAre(
          R"(web-1 \Disk(x)\Transfers/sec - \Disk(x)\Transfers/sec [1/s])",
          "10: 0", "20: 0",
          R"(web-1 \Disk(x#1)\Transfers/sec - \Disk(x#1)\Transfers/sec [1/s])",
          "10: 0", "20: 0"));
}

// Fixed operands can have several series, whose pairs multiply.
TEST_F(ArithmeticTest, LimitsTheValuesOfAnOperation) {
  DiskAgent agent(&store_);
  std::vector<std::pair<uint32_t, uint64_t>> disks;
  for (uint32_t i = 0; i < 5; ++i) {
    disks.push_back({agent.Disk("x", i), 2});
    disks.push_back({agent.Disk("y", 10 + i), 2});
  }
  agent.Ticks(0, 20, disks);
  ASSERT_OK(agent.Send());
  const auto run = [&](const std::string& text) {
    return testing::CollectRangeQuery(
        {.paths = {text}, .start = At(0), .end = At(20)},
        {.store = *store_,
         .now_of = [](const std::string&) { return At(60); },
         .limits = {.held = 100}});
  };
  const std::string pairs =
      R"(\Disk(x)\Transfers/sec * \Disk(y)\Transfers/sec)";
  ASSERT_OK_AND_ASSIGN(const auto results, run(pairs));
  EXPECT_EQ(results.size(), 25);
  EXPECT_THAT(run(absl::StrCat(pairs, R"( * \Disk(x)\Queue Length)")),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("more than 100 values")));
}

TEST_F(ArithmeticTest, ReportsSeriesWithoutCommonWindows) {
  MemoryAgent agent(&store_);
  const uint32_t c = agent.Disk("C:"), d = agent.Disk("D:");
  agent.Ticks(0, 8, {{c, 2}, {d, 2}});
  agent.Ticks(9, 20, {{d, 2}});
  agent.Faults(12, 20, 4);
  ASSERT_OK(agent.Send());
  EXPECT_THAT(
      Run(R"(\Disk(C:)\Transfers/sec / \Memory\Page Faults/sec)"),
      StatusIs(absl::StatusCode::kNotFound, HasSubstr("the same windows")));
  EXPECT_THAT(Ask(R"(\Disk(?:)\Transfers/sec / \Memory\Page Faults/sec)"),
              ElementsAre(HasSubstr(R"(\Disk(D:)\Tr)"), HasSubstr("20: 0.5")));
}

TEST_F(ArithmeticTest, ReportsMissingSeries) {
  DiskAgent web(&store_, "web-1"), db(&store_, "db-1");
  web.Ticks(0, 20, {{web.Disk("C:"), 2}});
  db.Ticks(0, 20, {{db.Disk("C:"), 2}});
  ASSERT_OK(web.Connect());
  ASSERT_OK(web.Send());
  ASSERT_OK(db.Send());
  constexpr auto kNotFound = absl::StatusCode::kNotFound;
  EXPECT_THAT(Run(R"(\Disk(*)\Transfers/sec / \Disk(*)\Queue)"),
              StatusIs(kNotFound, HasSubstr(R"(no counter "Queue" is)")));
  EXPECT_THAT(Run(R"(\Disk(*)\Transfers/sec / \Disk(x)\Queue Length)"),
              StatusIs(kNotFound, HasSubstr(R"(no instance "x")")));
  EXPECT_THAT(
      Run(R"(\\web-1\Disk(*)\Transfers/sec / \\db-1\Disk(*)\Queue Length)"),
      StatusIs(kNotFound, HasSubstr("they must be of one machine")));
}

TEST_F(ArithmeticTest, RoundsASumOnce) {
  DiskAgent agent(&store_, "web-1");
  const uint32_t c = agent.Disk("C:");
  for (int t = 0; t <= 20; ++t) {
    agent.AddTick(agent.query, ClocksAt(t),
                  {{c, {static_cast<uint64_t>(t), 2}}});
  }
  ASSERT_OK(agent.Send());
  const auto value_of = [&](const std::string& text) {
    const auto results = Run(text);
    EXPECT_OK(results);
    EXPECT_EQ(results->front().total.result,
              results->front().points[0].value.result);
    return results->front().total.result.value;
  };
  // The doubles' exact sum. Rounded each time, it would be twice that.
  for (const std::string numbers :
       {"0.1 + 0.2 - 0.3", "0.2 - 0.3 + 0.1", "0.1 - (0.3 - 0.2)"}) {
    EXPECT_EQ(value_of("'\\Disk(C:)\\Queue Length' * 0 + " + numbers), 0x1p-55)
        << numbers;
    EXPECT_EQ(value_of(numbers + " + '\\Disk(C:)\\Queue Length' - 2"), 0x1p-55)
        << numbers;
  }
  // Products are those of rounded numbers.
  EXPECT_EQ(value_of("(0.1 + 0.2) * '\\Disk(C:)\\Queue Length' - 0.6"),
            (0.1 + 0.2) * 2 - 0.6);
}

}  // namespace
}  // namespace fleetperf::aggregator
