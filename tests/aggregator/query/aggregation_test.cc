// Aggregation of several series.

#include "aggregator/query/aggregation.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "absl/strings/str_join.h"
#include "aggregator/query/query_context.h"
#include "aggregator/query/range_query.h"
#include "tests/support/countersets.h"
#include "tests/support/disk_agent.h"
#include "tests/support/points_text.h"
#include "tests/support/query_results.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::aggregator {
namespace {

using testing::At;
using testing::ClocksAt;
using testing::DiskAgent;
using ::testing::ElementsAre;
using testing::TestAgent;
using testing::TestStore;
using testing::ToText;

class AggregationTest : public ::testing::Test {
 protected:
  // From the start to 20 s, in windows of 10 s: "web-1 C: \Disk\Queue Length"
  // and its points, group by group.
  std::vector<std::string> Ask(const std::string& path,
                               const Aggregation& aggregation,
                               RangeRequest request = {}) {
    request.paths = {path};
    request.start = At(0);
    if (!request.end.has_value()) request.end = At(20);
    request.step = absl::Seconds(10);
    request.aggregation = aggregation;
    const auto results = testing::CollectRangeQuery(
        request, {.store = *store_,
                  .now_of = [](const std::string&) { return At(60); }});
    if (!results.ok()) return {results.status().ToString()};
    std::vector<std::string> texts;
    for (const SeriesResult& result : *results) {
      std::string name = result.series.path();
      if (result.series.has_instance()) {
        name = result.series.instance() + " " + name;
      }
      if (!result.series.machine().empty()) {
        name = result.series.machine() + " " + name;
      }
      texts.push_back(name);
      for (std::string& point : ToText(result.points)) {
        texts.push_back(std::move(point));
      }
    }
    return texts;
  }

  TestStore store_;
};

TEST_F(AggregationTest, CombinesValuesOfAllMachinesAndInstances) {
  DiskAgent web(&store_, "web-1"), db(&store_, "db-1");
  web.Ticks(0, 20, {{web.Disk("C:"), 2}, {web.Disk("D:"), 3}});
  db.Ticks(0, 20, {{db.Disk("C:"), 10}});
  ASSERT_OK(web.Send());
  ASSERT_OK(db.Send());
  const auto ask = [&](AggregateFunction function) {
    return Ask("\\Disk(*)\\Transfers/sec", {.function = function});
  };
  const std::string name = "\\Disk\\Transfers/sec";
  EXPECT_THAT(ask(AggregateFunction::kSum),
              ElementsAre(name, "10: 15", "20: 15"));
  EXPECT_THAT(ask(AggregateFunction::kAverage),
              ElementsAre(name, "10: 5", "20: 5"));
  EXPECT_THAT(ask(AggregateFunction::kMinimum),
              ElementsAre(name, "10: 2", "20: 2"));
  EXPECT_THAT(ask(AggregateFunction::kMaximum),
              ElementsAre(name, "10: 10", "20: 10"));
  EXPECT_THAT(ask(AggregateFunction::kCount),
              ElementsAre(name, "10: 3", "20: 3"));
}

TEST_F(AggregationTest, SeparatesGroupsByRequestedProperties) {
  DiskAgent web(&store_, "web-1"), db(&store_, "db-1");
  web.Ticks(0, 10, {{web.Disk("C:"), 2}, {web.Disk("D:"), 3}});
  db.Ticks(0, 10, {{db.Disk("C:"), 10}});
  ASSERT_OK(web.Send());
  ASSERT_OK(db.Send());
  const RangeRequest to_10{.end = At(10)};
  constexpr auto kSum = AggregateFunction::kSum;
  EXPECT_THAT(Ask("\\Disk(*)\\Transfers/sec",
                  {.function = kSum, .by_machine = true}, to_10),
              ElementsAre("db-1 \\Disk\\Transfers/sec", "10: 10",
                          "web-1 \\Disk\\Transfers/sec", "10: 5"));
  EXPECT_THAT(Ask("\\Disk(*)\\Transfers/sec",
                  {.function = kSum, .by_instance = true}, to_10),
              ElementsAre("C: \\Disk\\Transfers/sec", "10: 12",
                          "D: \\Disk\\Transfers/sec", "10: 3"));
  // Counters always separate groups.
  EXPECT_THAT(Ask("\\\\db-1\\Disk(*)\\*", {.function = kSum}, to_10),
              ElementsAre("\\Disk\\Queue Length", "10: 10",
                          "\\Disk\\Transfers/sec", "10: 10"));
}

// Instances of processes are named "program:process id".
TEST_F(AggregationTest, GroupsProcessesByProgram) {
  DiskAgent agent(&store_);
  agent.Ticks(0, 10,
              {{agent.Disk("nginx:7"), 2},
               {agent.Disk("nginx:1234"), 3},
               {agent.Disk("a:b:9"), 10},
               {agent.Disk("C:"), 20},
               {agent.Disk("nginx"), 100}});
  ASSERT_OK(agent.Send());
  EXPECT_THAT(Ask("\\Disk(*)\\Transfers/sec",
                  {.function = AggregateFunction::kSum, .by_name = true},
                  {.end = At(10)}),
              ElementsAre("C: \\Disk\\Transfers/sec", "10: 20",
                          "a:b \\Disk\\Transfers/sec", "10: 10",
                          "nginx \\Disk\\Transfers/sec", "10: 105"));
}

TEST_F(AggregationTest, OmitsTheTotalUnlessItIsNamed) {
  DiskAgent agent(&store_);
  agent.Ticks(0, 20, {{agent.Disk("C:"), 2}, {agent.Disk("_Total"), 100}});
  ASSERT_OK(agent.Send());
  constexpr auto kSum = AggregateFunction::kSum;
  EXPECT_THAT(Ask("\\Disk(*)\\Transfers/sec", {.function = kSum}),
              ElementsAre("\\Disk\\Transfers/sec", "10: 2", "20: 2"));
  EXPECT_THAT(Ask("\\Disk(_Total)\\Transfers/sec", {.function = kSum}),
              ElementsAre("\\Disk\\Transfers/sec", "10: 100", "20: 100"));
}

// Reads of one disk are large and few, those of the other small and many.
void AddReads(TestStore* store, const std::string& machine, uint64_t bytes,
              uint64_t reads) {
  TestAgent agent(store, machine);
  const uint32_t id = agent.Machine(machine);
  const uint32_t disk = agent.Counterset(testing::DiskRegistration());
  const uint32_t query =
      agent.Query(id, disk, absl::Seconds(1),
                  {{testing::kBytesPerRead}, {testing::kReads, 4}});
  const uint32_t c = agent.Instance(id, disk, "C:");
  for (uint64_t t = 0; t <= 20; ++t) {
    agent.AddTick(query, ClocksAt(static_cast<double>(t)),
                  {{c, {t * bytes, t * reads}}});
  }
  ASSERT_OK(agent.Send());
}

TEST_F(AggregationTest, AveragesRatiosByTheirSums) {
  AddReads(&store_, "few", 1'000'000, 1);
  AddReads(&store_, "many", 99'000, 99);
  // (1,000,000 + 99,000) bytes in 100 reads, not (1,000,000 + 1,000) / 2.
  EXPECT_THAT(Ask("\\Disk(*)\\Bytes per Read",
                  {.function = AggregateFunction::kAverage}),
              ElementsAre("\\Disk\\Bytes per Read", "10: 10990", "20: 10990"));
  EXPECT_THAT(
      Ask("\\Disk(*)\\Bytes per Read",
          {.function = AggregateFunction::kMaximum}),
      ElementsAre("\\Disk\\Bytes per Read", "10: 1000000", "20: 1000000"));
  // The maximum is by value.
  RangeRequest largest{.over = Over::kMaximum};
  EXPECT_THAT(
      Ask("\\Disk(*)\\Bytes per Read",
          {.function = AggregateFunction::kAverage}, largest),
      ElementsAre("\\Disk\\Bytes per Read", "10: 500500", "20: 500500"));
}

TEST_F(AggregationTest, AutoFollowsTheRegistrationOrTheType) {
  TestAgent agent(&store_, "web-1");
  const uint32_t machine = agent.Machine("web-1");
  perflib::CountersetRegistration registration;
  registration.guid =
      *perflib::ParseGuid("{00000000-0000-4000-8000-0000000000a9}");
  registration.name = "Set";
  registration.instance_type = perflib::kCountersetMultipleInstances;
  std::vector<testing::BatchWriter::Column> columns;
  const struct {
    const char* name;
    uint32_t type;
    uint32_t aggregate_function;
    const char* expected;
  } kCases[] = {
      {"0 undefined", perflib::kPerfCounterLargeRawcount, 0, "10: 6"},
      {"1 total", perflib::kPerfCounterLargeRawcount, 1, "10: 6"},
      {"2 average", perflib::kPerfCounterLargeRawcount, 2, "10: 3"},
      {"3 minimum", perflib::kPerfCounterLargeRawcount, 3, "10: 2"},
      {"4 maximum", perflib::kPerfCounterLargeRawcount, 4, "10: 4"},
      // A percentage: 100 * 2 and 100 * 4 units of 100 ns by a second.
      {"5 percentage", perflib::kPerf100NsecTimer, 0, "10: 0"},
  };
  std::vector<std::string> expected;
  for (uint32_t i = 0; i < std::size(kCases); ++i) {
    registration.counters.push_back(
        {.counter_id = i,
         .type = kCases[i].type,
         .aggregate_function = kCases[i].aggregate_function,
         .name = kCases[i].name});
    columns.push_back({.counter_id = i});
    expected.push_back(absl::StrCat("\\Set\\", kCases[i].name));
    expected.push_back(kCases[i].expected);
  }
  const uint32_t set = agent.Counterset(registration);
  const uint32_t query = agent.Query(machine, set, absl::Seconds(1), columns);
  const uint32_t a = agent.Instance(machine, set, "a");
  const uint32_t b = agent.Instance(machine, set, "b");
  for (int t = 0; t <= 10; ++t) {
    const std::vector<std::optional<uint64_t>> twos(columns.size(), 2);
    const std::vector<std::optional<uint64_t>> fours(columns.size(), 4);
    agent.AddTick(query, ClocksAt(t), {{a, twos}, {b, fours}});
  }
  ASSERT_OK(agent.Send());
  EXPECT_THAT(Ask("\\Set(*)\\*", {}, {.end = At(10)}),
              ::testing::ElementsAreArray(expected));
}

// A counter in hexadecimal, in bytes.
TEST_F(AggregationTest, NumbersOfSeriesAreShownAsNumbers) {
  TestAgent agent(&store_, "web-1");
  const uint32_t machine = agent.Machine("web-1");
  const uint32_t set = agent.Counterset(
      {.guid = *perflib::ParseGuid("{00000000-0000-4000-8000-0000000000a9}"),
       .name = "Set",
       .counters = {{.type = perflib::kPerfCounterLargeRawcountHex,
                     .attrib = perflib::kAttribDisplayAsHex,
                     .default_scale = 2,
                     .name = "Flag Bytes"}}});
  const uint32_t query =
      agent.Query(machine, set, absl::Seconds(1), {{.counter_id = 0}});
  const uint32_t instance = agent.Instance(machine, set, "");
  agent.AddTick(query, ClocksAt(5), {{instance, {{0xA0}}}});
  ASSERT_OK(agent.Send());
  const auto counts = testing::CollectRangeQuery(
      {.paths = {"\\Set\\*"},
       .start = At(0),
       .end = At(20),
       .step = absl::Seconds(10),
       .aggregation = Aggregation{.function = AggregateFunction::kCount}},
      {.store = *store_, .now_of = [](const std::string&) { return At(60); }});
  ASSERT_OK(counts);
  ASSERT_EQ(counts->size(), 1u);
  const v1::Series& series = counts->front().series;
  EXPECT_EQ(series.unit(), "");
  EXPECT_FALSE(perflib::IsHexType(series.type()));
  EXPECT_EQ(series.attrib(), 0u);
  EXPECT_EQ(series.default_scale(), 0);
}

TEST_F(AggregationTest, ReportsMissingSeries) {
  DiskAgent web(&store_, "web-1"), db(&store_, "db-1");
  const uint32_t c = web.Disk("C:"), d = db.Disk("C:");
  web.Ticks(0, 30, {{c, 2}});
  db.Ticks(0, 10, {{d, 10}});
  db.Lose("db-1", At(11), At(25), 15, v1::LOSS_CAUSE_OVERRUN);
  db.Ticks(26, 30, {{d, 10}});
  ASSERT_OK(web.Send());
  ASSERT_OK(db.Send());
  EXPECT_THAT(Ask("\\Disk(*)\\Transfers/sec",
                  {.function = AggregateFunction::kSum}, {.end = At(30)}),
              ElementsAre("\\Disk\\Transfers/sec", "10: 12",
                          "20: 2 overrun coverage=0.5",
                          "30: 12 overrun breaks=1 coverage=0.7"));
}

TEST_F(AggregationTest, AbsenceOfAnInstanceIsNotMissing) {
  DiskAgent web(&store_, "web-1");
  const uint32_t c = web.Disk("C:"), d = web.Disk("D:");
  web.Ticks(0, 5, {{c, 2}, {d, 4}});
  web.Ticks(6, 10, {{c, 2}});
  ASSERT_OK(web.Send());
  EXPECT_THAT(Ask("\\Disk(*)\\Transfers/sec",
                  {.function = AggregateFunction::kSum}, {.end = At(10)}),
              ElementsAre("\\Disk\\Transfers/sec", "10: 4"));
}

// New windows lie before, between and after those of the group.
TEST_F(AggregationTest, AddsWindowsOfEachSeries) {
  const struct {
    double value;
    std::vector<int> times;
  } kSeries[] = {{1, {20, 30}},
                 {2, {}},
                 {10, {10, 20}},
                 {100, {50, 60}},
                 {1000, {10, 30, 40, 60, 70}},
                 {10000, {20, 50}}};
  GroupedSeries groups(Aggregation{.function = AggregateFunction::kSum});
  for (const auto& series : kSeries) {
    SeriesResult result;
    for (const int time : series.times) {
      result.points.push_back(
          {.time = At(time), .value = {.result = {.value = series.value}}});
    }
    groups.Add(FoundSeries(), {}, result, /*has_windows=*/true);
  }
  const QueryContext context{.store = *store_};
  QueryMeter meter(context);
  ASSERT_OK_AND_ASSIGN(const auto results, groups.Take(&meter));
  ASSERT_EQ(results.size(), 1);
  EXPECT_THAT(ToText(results[0].points),
              ElementsAre("10: 1010", "20: 10011", "30: 1001", "40: 1000",
                          "50: 10100", "60: 1100", "70: 1000"));
}

TEST_F(AggregationTest, HasOneValueForSamplesOfOneWindow) {
  // At a step of one sampling interval, machines tick at different moments.
  DiskAgent web(&store_, "web-1"), db(&store_, "db-1");
  const uint32_t c = web.Disk("C:"), d = db.Disk("C:");
  for (int t = 0; t <= 3; ++t) {
    web.AddTick(web.query, ClocksAt(t + 0.25), {{c, {0, 2}}});
    db.AddTick(db.query, ClocksAt(t + 0.75), {{d, {0, 3}}});
  }
  ASSERT_OK(web.Send());
  ASSERT_OK(db.Send());
  const auto results = testing::CollectRangeQuery(
      {.paths = {"\\Disk(*)\\Queue Length"},
       .start = At(0),
       .end = At(3),
       .step = absl::Seconds(1),
       .aggregation = Aggregation{.function = AggregateFunction::kSum}},
      {.store = *store_, .now_of = [](const std::string&) { return At(60); }});
  ASSERT_OK(results);
  ASSERT_EQ(results->size(), 1);
  EXPECT_THAT(ToText(results->front().points),
              ElementsAre("1: 5", "2: 5", "3: 5"));
}

TEST_F(AggregationTest, EndsAtTheEarliestMachinesClock) {
  DiskAgent web(&store_, "web-1"), db(&store_, "db-1"), app(&store_, "app-1");
  web.Ticks(0, 40, {{web.Disk("C:"), 2}});
  db.Ticks(0, 32, {{db.Disk("C:"), 10}});
  // A clock far behind must not delay the others.
  app.Ticks(-3600, -3560, {{app.Disk("C:"), 100}});
  for (DiskAgent* agent : {&web, &db, &app}) ASSERT_OK(agent->Send());
  const auto results = testing::CollectRangeQuery(
      {.paths = {"\\Disk(*)\\Queue Length"},
       .since = absl::Seconds(20),
       .step = absl::Seconds(10),
       .aggregation = Aggregation{AggregateFunction::kSum}},
      {.store = *store_, .now_of = [](const std::string& machine) {
         return machine == "web-1"  ? At(41)
                : machine == "db-1" ? At(32)
                                    : At(-3560);
       }});
  ASSERT_OK(results);
  ASSERT_EQ(results->size(), 1);
  EXPECT_THAT(ToText(results->front().points), ElementsAre("20: 12", "30: 12"));
}

TEST_F(AggregationTest, IgnoresAClockThatIsAhead) {
  DiskAgent web(&store_, "web-1"), db(&store_, "db-1");
  web.Ticks(0, 40, {{web.Disk("C:"), 2}});
  db.Ticks(3600, 3640, {{db.Disk("C:"), 10}});
  for (DiskAgent* agent : {&web, &db}) ASSERT_OK(agent->Send());
  const auto results = testing::CollectRangeQuery(
      {.paths = {"\\Disk(*)\\Queue Length"},
       .since = absl::Seconds(20),
       .step = absl::Seconds(10),
       .aggregation = Aggregation{AggregateFunction::kSum}},
      {.store = *store_, .now_of = [](const std::string& machine) {
         return machine == "web-1" ? At(40) : At(3640);
       }});
  ASSERT_OK(results);
  ASSERT_EQ(results->size(), 1);
  EXPECT_THAT(ToText(results->front().points), ElementsAre("30: 2", "40: 2"));
}

// Nearest rank: of n values in order, the one at position ceil(p / 100 * n).
TEST_F(AggregationTest, CalculatesPercentilesByNearestRank) {
  DiskAgent agent(&store_);
  std::vector<std::pair<uint32_t, uint64_t>> rates;
  for (uint64_t i = 1; i <= 30; ++i) {  // in no order
    rates.push_back({agent.Disk(absl::StrCat("sd", i)), i * 7 % 31 * 10});
  }
  agent.Ticks(0, 20, rates);
  ASSERT_OK(agent.Send());
  const struct {
    AggregateFunction function;
    const char* expected;                               // of 10, 20, ..., 300
  } kCases[] = {{AggregateFunction::kP50, "20: 150"},   // the 15th
                {AggregateFunction::kP90, "20: 270"},   // the 27th
                {AggregateFunction::kP95, "20: 290"},   // 28.5: the 29th
                {AggregateFunction::kP99, "20: 300"}};  // 29.7: the 30th
  for (const auto& test : kCases) {
    const auto texts =
        Ask("\\Disk(*)\\Transfers/sec", {.function = test.function});
    ASSERT_EQ(texts.size(), 3);
    EXPECT_EQ(texts[2], test.expected);
  }
  // All percentiles of one value are that value.
  EXPECT_THAT(Ask("\\Disk(sd1)\\Queue Length", {AggregateFunction::kP50}),
              ElementsAre("\\Disk\\Queue Length", "10: 70", "20: 70"));
}

TEST_F(AggregationTest, PercentilesIgnoreSeriesWithoutAValue) {
  DiskAgent agent(&store_);
  const uint32_t a = agent.Disk("a"), b = agent.Disk("b"), c = agent.Disk("c");
  agent.Ticks(0, 10, {{a, 1}, {b, 2}, {c, 3}});
  agent.Ticks(11, 20, {{a, 4}});
  ASSERT_OK(agent.Send());
  EXPECT_THAT(Ask("\\Disk(*)\\Queue Length", {AggregateFunction::kP90}),
              ElementsAre("\\Disk\\Queue Length", "10: 3", "20: 4"));
}

TEST_F(AggregationTest, SeparatesCountersUnlessGroupedByCounterset) {
  TestAgent agent(&store_, "web-1");
  const uint32_t machine = agent.Machine("web-1");
  const uint32_t set = agent.Counterset(
      {.guid = *perflib::ParseGuid("{00000000-0000-4000-8000-0000000000e7}"),
       .name = "Interface",
       .instance_type = perflib::kCountersetMultipleInstances,
       .counters = {{.counter_id = 1,
                     .type = perflib::kPerfCounterBulkCount,
                     .name = "Bytes Received/sec"},
                    {.counter_id = 2,  // same unit, other type
                     .type = perflib::kPerfCounterCounter,
                     .name = "Bytes Sent/sec"},
                    {.counter_id = 3,
                     .type = perflib::kPerfCounterBulkCount,
                     .name = "Packets/sec"}}});
  const uint32_t query =
      agent.Query(machine, set, absl::Seconds(1), {{1}, {2, 4}, {3}});
  const uint32_t eth0 = agent.Instance(machine, set, "eth0");
  const uint32_t eth1 = agent.Instance(machine, set, "eth1");
  for (uint64_t t = 0; t <= 20; ++t) {
    agent.AddTick(query, ClocksAt(static_cast<double>(t)),
                  {{eth0, {1000 * t, 10 * t, t}}, {eth1, {300 * t, 5 * t, t}}});
  }
  ASSERT_OK(agent.Send());
  Aggregation sum{.function = AggregateFunction::kSum};
  EXPECT_THAT(
      Ask("\\Interface(*)\\*", sum),
      ElementsAre("\\Interface\\Bytes Received/sec", "10: 1300", "20: 1300",
                  "\\Interface\\Bytes Sent/sec", "10: 15", "20: 15",
                  "\\Interface\\Packets/sec", "10: 2", "20: 2"));
  // Packets and bytes are never added.
  sum.across_counters = true;
  EXPECT_THAT(Ask("\\Interface(*)\\*", sum),
              ElementsAre("\\Interface\\*", "10: 2", "20: 2",  // 1/s
                          "\\Interface\\*", "10: 1315", "20: 1315"));
  EXPECT_THAT(Ask("\\Interface(*)\\Bytes *", sum),
              ElementsAre("\\Interface\\*", "10: 1315", "20: 1315"));
}

TEST_F(AggregationTest, CombinesRatiosOfDifferentFormulasByValue) {
  TestAgent agent(&store_, "web-1");
  const uint32_t machine = agent.Machine("web-1");
  const uint32_t set = agent.Counterset(
      {.guid = *perflib::ParseGuid("{00000000-0000-4000-8000-0000000000e8}"),
       .name = "Cache",
       .counters = {{.counter_id = 1,
                     .type = perflib::kPerfSampleFraction,
                     .base_counter_id = 3,
                     .name = "Hits %"},
                    {.counter_id = 2,
                     .type = perflib::kPerfPrecisionSystemTimer,
                     .base_counter_id = 4,
                     .name = "Busy %"},
                    {.counter_id = 3, .type = perflib::kPerfSampleBase},
                    {.counter_id = 4, .type = perflib::kPerfLargeRawBase}}});
  const uint32_t query = agent.Query(machine, set, absl::Seconds(1),
                                     {{1},
                                      {2},
                                      {.counter_id = 3, .only_linked = true},
                                      {.counter_id = 4, .only_linked = true}});
  const uint32_t all = agent.Instance(machine, set);
  for (uint64_t t = 0; t <= 20; ++t) {
    agent.AddTick(query, ClocksAt(static_cast<double>(t)),
                  {{all, {t, 3 * t, 10 * t, 40 * t}}});
  }
  ASSERT_OK(agent.Send());
  EXPECT_THAT(Ask("\\Cache\\*", {.function = AggregateFunction::kAverage,
                                 .across_counters = true}),
              // 10 and 7.5 %, not 4 in 50.
              ElementsAre("\\Cache\\*", "10: 8.75", "20: 8.75"));
}

TEST_F(AggregationTest, GroupsByLabelsOfTheMachinesAgents) {
  const auto add = [&](const std::string& name, const std::string& agent_name,
                       const std::map<std::string, std::string>& labels,
                       uint64_t rate) {
    DiskAgent agent(&store_, name);
    agent.Ticks(0, 20, {{agent.Disk("C:"), rate}});
    ASSERT_OK(agent.Send());
    v1::Machine machine;
    machine.set_name(name);
    machine.set_agent(agent_name);
    machine.mutable_labels()->insert(labels.begin(), labels.end());
    ASSERT_OK(store_->PutMachine({machine}));
  };
  add("web-1", "web-1", {{"role", "web"}, {"rack", "r1"}}, 1);
  add("web-2", "web-2", {{"role", "web"}, {"rack", "r2"}}, 2);
  add("db-1", "db-1", {{"role", "db"}, {"rack", "r2"}}, 10);
  add("nas-1", "db-1", {}, 20);  // collected by another machine's agent
  add("old-1", "old-1", {}, 100);
  RangeRequest request{
      .paths = {"\\Disk(*)\\Transfers/sec"}, .start = At(0), .end = At(20)};
  request.aggregation =
      Aggregation{.function = AggregateFunction::kSum, .labels = {"role"}};
  const auto ask = [&] {
    const auto results = testing::CollectRangeQuery(
        request, {.store = *store_,
                  .now_of = [](const std::string&) { return At(60); }});
    EXPECT_OK(results);
    std::vector<std::string> texts;
    for (const SeriesResult& result : *results) {
      std::map<std::string, std::string> labels(result.series.labels().begin(),
                                                result.series.labels().end());
      texts.push_back(
          absl::StrCat(absl::StrJoin(labels, ",", absl::PairFormatter("=")),
                       " ", ToText(result.points.front())));
    }
    return texts;
  };
  EXPECT_THAT(ask(),
              ElementsAre("role= 20: 100", "role=db 20: 30", "role=web 20: 3"));
  request.aggregation->labels = {"role", "rack"};
  EXPECT_THAT(ask(),
              ElementsAre("rack=,role= 20: 100", "rack=r2,role=db 20: 30",
                          "rack=r1,role=web 20: 1", "rack=r2,role=web 20: 2"));
}

TEST_F(AggregationTest, TopSelectsGroups) {
  DiskAgent web(&store_, "web-1"), db(&store_, "db-1");
  web.Ticks(0, 20, {{web.Disk("C:"), 4}, {web.Disk("D:"), 4}});
  db.Ticks(0, 20, {{db.Disk("C:"), 7}});
  ASSERT_OK(web.Send());
  ASSERT_OK(db.Send());
  EXPECT_THAT(Ask("\\Disk(*)\\Transfers/sec",
                  {.function = AggregateFunction::kSum, .by_machine = true},
                  {.choice = {.top = 1}}),
              ElementsAre("web-1 \\Disk\\Transfers/sec", "10: 8", "20: 8"));
}

TEST(AggregatedWindow, DoesNotDependOnTheOrderOfSeries) {
  CounterFormula gauge;
  std::vector<WindowValue> values;
  for (int i = 1; i <= 6; ++i) {
    values.push_back(
        {.result = CalculatedValue::Of(i % 3 == 0 ? 1e17 : 0.1 * i),
         .coverage = 1.0 / i,
         .presence = 1.0 / (2 * i + 1)});
  }
  for (const auto function :
       {AggregateFunction::kAverage, AggregateFunction::kSum,
        AggregateFunction::kCount}) {
    std::optional<WindowValue> first;
    for (int turn = 0; turn < 6; ++turn) {
      std::rotate(values.begin(), values.begin() + 1, values.end());
      AggregatedWindow window;
      for (const WindowValue& value : values) {
        window.Add(gauge, function, value, value.presence);
      }
      const WindowValue combined = window.Finish(function);
      if (!first.has_value()) first = combined;
      EXPECT_EQ(combined.result, first->result);
      EXPECT_EQ(combined.coverage, first->coverage);
    }
  }
}

}  // namespace
}  // namespace fleetperf::aggregator
