// Range queries on a real store.

#include "aggregator/query/range_query.h"

#include "perflib/counter_type.h"
#include "tests/aggregator/query/range_query_fixture.h"
#include "tests/support/countersets.h"
#include "tests/support/disk_agent.h"
#include "tests/support/points_text.h"
#include "tests/support/query_results.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_store.h"

namespace fleetperf::aggregator {
namespace {

using testing::At;
using testing::BatchWriter;
using testing::ClocksAt;
using testing::DiskAgent;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using testing::StatusIs;

TEST_F(RangeQuery, ReturnsSeriesByMachineAndPath) {
  for (const std::string machine : {"web-2", "web-1"}) {
    DiskAgent agent(&store_, machine);
    const uint32_t d = agent.Disk("D:");
    agent.Ticks(0, 20, {{d, 3}, {agent.Disk("C:"), 2}});
    ASSERT_OK(agent.Send());
  }
  EXPECT_THAT(Ask({.paths = {"\\Disk(*)\\Transfers/sec"},
                   .start = At(0),
                   .end = At(20),
                   .step = absl::Seconds(10)}),
              ElementsAre("web-1 \\Disk(C:)\\Transfers/sec", "10: 2", "20: 2",
                          "web-1 \\Disk(D:)\\Transfers/sec", "10: 3", "20: 3",
                          "web-2 \\Disk(C:)\\Transfers/sec", "10: 2", "20: 2",
                          "web-2 \\Disk(D:)\\Transfers/sec", "10: 3", "20: 3"));
}

TEST_F(RangeQuery, CoversAWindowThatBeginsWithItsLongestPiece) {
  DiskAgent agent(&store_);
  const uint32_t c = agent.Disk("C:");
  agent.Ticks(0, 9, {{c, 2}});
  agent.Ticks(11, 18, {{c, 2}});  // 9 of 10 s: less than a piece is missing
  agent.Ticks(21, 30, {{c, 2}});
  ASSERT_OK(agent.Send());
  EXPECT_THAT(
      Ask({.paths = {"\\Disk(C:)\\Transfers/sec"},
           .start = At(0),
           .end = At(30),
           .step = absl::Seconds(10)}),
      ElementsAre("web-1 \\Disk(C:)\\Transfers/sec", "10: 2 coverage=0.9",
                  "20: 2", "30: 2 no_samples breaks=1 coverage=0.9"));
}

TEST_F(RangeQuery, TellsWhenSamplesStopped) {
  DiskAgent agent(&store_);
  const uint32_t c = agent.Disk("C:");
  agent.Ticks(0, 5, {{c, 2}, {agent.Disk("D:"), 2}});
  agent.Ticks(6, 20, {{c, 2}});
  ASSERT_OK(agent.Send());
  // Returns the times of the series' answers.
  const auto stopped = [&](int end, RangeRequest request) {
    if (request.paths.empty()) request.paths = {"\\Disk(*)\\Transfers/sec"};
    request.start = At(0);
    request.end = At(end);
    std::vector<std::optional<absl::Time>> times;
    const auto results = Run(request);
    EXPECT_OK(results.status());
    for (const SeriesResult& result : *results) times.push_back(result.stopped);
    return times;
  };
  // Two and a half intervals of one second must pass.
  EXPECT_THAT(stopped(22, {}), ElementsAre(std::nullopt, At(5)));
  EXPECT_THAT(stopped(23, {}), ElementsAre(At(20), At(5)));
  EXPECT_THAT(stopped(30, {.step = absl::Seconds(10)}),
              ElementsAre(std::nullopt, std::nullopt));
  // Of a group, if all of its series stopped; of an expression, if one did.
  const Aggregation sum{.function = AggregateFunction::kSum};
  EXPECT_THAT(stopped(22, {.aggregation = sum}), ElementsAre(std::nullopt));
  EXPECT_THAT(stopped(23, {.aggregation = sum}), ElementsAre(At(20)));
  EXPECT_THAT(stopped(22, {.paths = {"\\Disk(C:)\\Transfers/sec / "
                                     "\\Disk(D:)\\Transfers/sec"}}),
              ElementsAre(At(5)));
}

TEST_F(RangeQuery, DescribesASeries) {
  DiskAgent agent(&store_);
  agent.Ticks(0, 5, {{agent.Disk("C:", 7), 2}});
  const uint32_t memory = agent.Counterset(testing::MemoryRegistration());
  const uint32_t query = agent.Query(agent.machine_id, memory, absl::Seconds(1),
                                     {{testing::kAvailableBytes}});
  agent.AddTick(query, ClocksAt(1),
                {{agent.Instance(agent.machine_id, memory), {5}}});
  ASSERT_OK(agent.Send());
  ASSERT_OK_AND_ASSIGN(
      const auto results,
      Run({.paths = {"\\Disk(*)\\Transfers/sec", "\\Memory\\*"},
           .since = absl::Minutes(1)}));
  ASSERT_EQ(results.size(), 2);
  const v1::Series& disk = results[0].series;
  EXPECT_EQ(disk.machine(), "web-1");
  EXPECT_EQ(disk.path(), "\\Disk(C:)\\Transfers/sec");
  EXPECT_EQ(disk.counterset(), "Disk");
  EXPECT_EQ(disk.instance(), "C:");
  EXPECT_EQ(disk.instance_id(), 7);
  EXPECT_EQ(disk.counter(), "Transfers/sec");
  EXPECT_EQ(disk.unit(), "1/s");
  EXPECT_EQ(disk.type(), 0x10410500);
  const v1::Series& bytes = results[1].series;
  EXPECT_EQ(bytes.path(), "\\Memory\\Available Bytes");
  EXPECT_FALSE(bytes.has_instance());
  EXPECT_EQ(bytes.unit(), "B");
}

// The registration names neither an object's time nor its frequency.
TEST_F(RangeQuery, MeasuresElapsedTimesByTheBlocksClocks) {
  testing::TestAgent agent(&store_, "web-1");
  ASSERT_OK(agent.Connect());
  const uint32_t machine = agent.Machine("web-1");
  const uint32_t server =
      agent.Counterset({.guid = {.data1 = 0xE},
                        .name = "Server",
                        .counters = {{.counter_id = 1,
                                      .type = perflib::kPerfElapsedTime,
                                      .name = "Up Time"},
                                     {.counter_id = 2,
                                      .type = perflib::kPerfElapsedTime,
                                      .name = "Session Time"}}});
  const uint32_t query =
      agent.Query(machine, server, absl::Seconds(1), {{1}, {2}});
  const uint32_t instance = agent.Instance(machine, server);
  // Started 50 s before, in ticks of PerfTimeStamp, and 20 s before, in 100 ns
  // since 1601.
  const auto up =
      static_cast<uint64_t>(ClocksAt(0).perf_time_stamp - 50 * testing::kFreq);
  const auto session = static_cast<uint64_t>(ClocksAt(-20).perf_time_100nsec);
  for (int second = 0; second <= 120; ++second) {
    agent.AddTick(query, ClocksAt(second), {{instance, {up, session}}});
  }
  ASSERT_OK(agent.Send());
  const RangeRequest request = {.paths = {"\\Server\\*"},
                                .start = At(0),
                                .end = At(120),
                                .step = absl::Minutes(1)};
  now_ = At(120);
  const auto kTimes =
      ElementsAre("web-1 \\Server\\Session Time", "60: 80", "120: 140",
                  "web-1 \\Server\\Up Time", "60: 110", "120: 170");
  EXPECT_THAT(Ask(request), kTimes);
  ASSERT_OK(store_.Compact());
  ASSERT_OK(store_.Thin(Resolution::kMinute));
  EXPECT_THAT(Ask(request), kTimes);
}

TEST_F(RangeQuery, RelativeStartIsAMultipleOfTheStep) {
  DiskAgent agent(&store_);
  agent.Ticks(0, 60, {{agent.Disk("C:"), 2}});
  ASSERT_OK(agent.Send());
  RangeRequest request{.paths = {"\\Disk(*)\\Queue Length"},
                       .since = absl::Seconds(20),
                       .step = absl::Seconds(10)};
  now_ = At(47);
  // Starts at 27, rounded down to 20. The last window is partial.
  EXPECT_THAT(Ask(request), ElementsAre("web-1 \\Disk(C:)\\Queue Length",
                                        "30: 2", "40: 2", "47: 2 partial"));
  request.end = At(33);
  EXPECT_THAT(Ask(request), ElementsAre("web-1 \\Disk(C:)\\Queue Length",
                                        "20: 2", "30: 2", "33: 2 partial"));
  // Without a step, the range has the requested length.
  request.step = absl::ZeroDuration();
  EXPECT_THAT(Ask(request),
              ElementsAre("web-1 \\Disk(C:)\\Queue Length", "33: 2"));
}

TEST_F(RangeQuery, StartsExactlyAtAGivenTime) {
  DiskAgent agent(&store_);
  agent.Ticks(0, 60, {{agent.Disk("C:"), 2}});
  ASSERT_OK(agent.Send());
  EXPECT_THAT(Ask({.paths = {"\\Disk(*)\\Transfers/sec"},
                   .start = At(3.5),
                   .end = At(30),
                   .step = absl::Seconds(10)}),
              ElementsAre("web-1 \\Disk(C:)\\Transfers/sec", "13.5: 2",
                          "23.5: 2", "30: 2 partial"));
}

TEST_F(RangeQuery, UsesTheSampleBeforeTheRange) {
  DiskAgent agent(&store_);
  const uint32_t c = agent.Disk("C:");
  for (int t = 0; t <= 30; ++t) {  // one batch each
    agent.Ticks(t, t, {{c, 2}});
    ASSERT_OK(agent.Send());
  }
  EXPECT_THAT(Ask({.paths = {"\\Disk(*)\\Transfers/sec"},
                   .start = At(10),
                   .end = At(12),
                   .step = absl::Seconds(1)}),
              ElementsAre("web-1 \\Disk(C:)\\Transfers/sec", "11: 2", "12: 2"));
}

TEST_F(RangeQuery, YieldsOneValueWithoutAStep) {
  DiskAgent agent(&store_);
  agent.Ticks(0, 60, {{agent.Disk("C:"), 2}});
  ASSERT_OK(agent.Send());
  EXPECT_THAT(Ask({.paths = {"\\Disk(*)\\*"}, .since = absl::Minutes(1)}),
              ElementsAre("web-1 \\Disk(C:)\\Queue Length", "60: 2",
                          "web-1 \\Disk(C:)\\Transfers/sec", "60: 2"));
}

TEST_F(RangeQuery, CombinesValuesByTheRequestedFunction) {
  DiskAgent agent(&store_);
  const uint32_t c = agent.Disk("C:");
  for (int t = 0; t <= 4; ++t) {
    const uint64_t square = static_cast<uint64_t>(t * t);
    agent.AddTick(agent.query, ClocksAt(t), {{c, {square, square}}});
  }
  ASSERT_OK(agent.Send());
  const struct {
    Over over;
    const char* transfers;  // 1, 3, 5 and 7 a second
    const char* queue;      // 1, 4, 9, 16
  } kCases[] = {
      {Over::kFormula, "4: 4", "4: 7.5"}, {Over::kAverage, "4: 4", "4: 7.5"},
      {Over::kMinimum, "4: 1", "4: 1"},   {Over::kMaximum, "4: 7", "4: 16"},
      {Over::kLast, "4: 7", "4: 16"},     {Over::kSum, "4: 16", "4: 30"}};
  for (const auto& test : kCases) {
    EXPECT_THAT(Ask({.paths = {"\\Disk(*)\\*"},
                     .start = At(0),
                     .end = At(4),
                     .over = test.over}),
                ElementsAre("web-1 \\Disk(C:)\\Queue Length", test.queue,
                            "web-1 \\Disk(C:)\\Transfers/sec", test.transfers));
  }
}

TEST_F(RangeQuery, TopOmitsAggregates) {
  DiskAgent agent(&store_);
  const uint32_t a = agent.Disk("a"), b = agent.Disk("b"), c = agent.Disk("c");
  const uint32_t total = agent.Disk("_Total"), part = agent.Disk("0,_Total");
  agent.Ticks(0, 20, {{a, 1}, {b, 5}, {c, 3}, {total, 9}, {part, 8}});
  ASSERT_OK(agent.Send());
  RangeRequest request{.paths = {"\\Disk(*)\\Transfers/sec"},
                       .start = At(0),
                       .end = At(20),
                       .choice = {.top = 2}};
  EXPECT_THAT(Ask(request),
              ElementsAre("web-1 \\Disk(b)\\Transfers/sec", "20: 5",
                          "web-1 \\Disk(c)\\Transfers/sec", "20: 3"));
  // Named aggregates are ranked.
  request.paths.push_back("\\Disk(_Total)\\Transfers/sec");
  EXPECT_THAT(Ask(request),
              ElementsAre("web-1 \\Disk(_Total)\\Transfers/sec", "20: 9",
                          "web-1 \\Disk(b)\\Transfers/sec", "20: 5"));
  // Without a choice, aggregates are included.
  request = {.paths = {"\\Disk(*_Total)\\Transfers/sec"},
             .start = At(0),
             .end = At(20)};
  EXPECT_THAT(Ask(request),
              ElementsAre("web-1 \\Disk(0,_Total)\\Transfers/sec", "20: 8",
                          "web-1 \\Disk(_Total)\\Transfers/sec", "20: 9"));
}

TEST_F(RangeQuery, TopRanksTheWholeFleet) {
  for (const auto& [machine, rate] :
       std::vector<std::pair<std::string, uint64_t>>{{"web-1", 4},
                                                     {"web-2", 6}}) {
    DiskAgent agent(&store_, machine);
    const uint32_t c = agent.Disk("C:"), once = agent.Disk("once");
    agent.Ticks(0, 20, {{c, rate}});
    agent.Ticks(21, 21, {{c, rate}, {once, 100}});
    ASSERT_OK(agent.Send());
  }
  EXPECT_THAT(Ask({.paths = {"\\Disk(*)\\Transfers/sec"},
                   .start = At(1),
                   .end = At(21),
                   .step = absl::Seconds(10),
                   .choice = {.top = 3}}),
              ElementsAre("web-2 \\Disk(C:)\\Transfers/sec", "11: 6", "21: 6",
                          "web-1 \\Disk(C:)\\Transfers/sec", "11: 4", "21: 4"));
}

// Scales that are not accepted from agents: 10^5000 exceeds a double, and
// 0 * 10^5000 is not a number.
TEST_F(RangeQuery, RanksCountersWithInvalidStoredScales) {
  perflib::CountersetRegistration registration = testing::DiskRegistration();
  perflib::CounterRegistration& counter = registration.counters[1];
  ASSERT_EQ(counter.counter_id, testing::kQueueLength);
  counter.attrib = perflib::kAttribDisplayAsReal;
  counter.default_scale = 5000;
  testing::TestAgent agent(&store_, "web-1");
  const uint32_t machine = agent.Machine("web-1");
  const uint32_t disk = agent.Counterset(registration);
  const uint32_t query = agent.Query(machine, disk, absl::Seconds(1),
                                     {{testing::kQueueLength, 4}});
  const uint32_t c = agent.Instance(machine, disk, "C:");
  const uint32_t d = agent.Instance(machine, disk, "D:");
  const uint32_t e = agent.Instance(machine, disk, "E:");
  agent.AddTick(query, ClocksAt(59), {{c, {5}}, {d, {0}}, {e, {7}}});
  ASSERT_OK(agent.Send());
  const auto ask = [&](const Choice& choice) {
    return Ask({.paths = {"\\Disk(*)\\Queue Length"},
                .since = absl::Seconds(10),
                .choice = choice});
  };
  EXPECT_THAT(
      ask({.top = 2}),
      ElementsAre("web-1 \\Disk(E:)\\Queue Length", "60: 7 coverage=0.1",
                  "web-1 \\Disk(C:)\\Queue Length", "60: 5 coverage=0.1"));
  EXPECT_THAT(ask({.bottom = 1}), ElementsAre("web-1 \\Disk(D:)\\Queue Length",
                                              "60: 0 coverage=0.1"));
}

TEST_F(RangeQuery, ReturnsNothingWithoutSamples) {
  DiskAgent agent(&store_);
  agent.Ticks(0, 10, {{agent.Disk("C:"), 2}});
  ASSERT_OK(agent.Send());
  RangeRequest request{
      .paths = {"\\Disk(*)\\*"}, .start = At(100), .end = At(200)};
  EXPECT_THAT(Ask(request), IsEmpty());
  request.choice.top = 5;
  EXPECT_THAT(Ask(request), IsEmpty());
}

TEST_F(RangeQuery, ReportsMissingInstances) {
  DiskAgent agent(&store_);
  agent.Ticks(0, 10, {{agent.Disk("C:"), 2}, {agent.Disk("nvme0n1"), 2}});
  ASSERT_OK(agent.Connect());
  ASSERT_OK(agent.Send());
  const auto ask = [&](const std::string& path) {
    return Run({.paths = {path}, .start = At(0), .end = At(10)}).status();
  };
  constexpr auto kNotFound = absl::StatusCode::kNotFound;
  EXPECT_THAT(ask("\\Disks(*)\\*"),
              StatusIs(kNotFound, HasSubstr("did you mean \"Disk\"?")));
  EXPECT_THAT(
      ask("\\Disk(nvme0n)\\*"),
      StatusIs(kNotFound, HasSubstr("there was no instance \"nvme0n\" in this "
                                    "time; did you mean \"nvme0n1\"?")));
  // Another path that selects series does not change this.
  EXPECT_THAT(
      Run({.paths = {"\\Disk(C:)\\*", "\\Disk(nvme0n)\\*"}, .start = At(0)}),
      StatusIs(kNotFound, HasSubstr("no instance \"nvme0n\"")));
}

TEST_F(RangeQuery, LimitsValuesInMemory) {
  // Each series has a value in its first and its last window.
  constexpr int kDisks = 21;
  constexpr double kEnd = 200'000;
  DiskAgent agent(&store_);
  std::vector<BatchWriter::Row> rows;
  for (int i = 0; i < kDisks; ++i) {
    rows.push_back({agent.Disk(absl::StrCat("sd", i)), {0, 1}});
  }
  agent.AddTick(agent.query, ClocksAt(1), rows);
  agent.AddTick(agent.query, ClocksAt(kEnd), rows);
  ASSERT_OK(agent.Send());
  RangeRequest request{.paths = {"\\Disk(*)\\Queue Length"},
                       .start = At(0),
                       .end = At(kEnd),
                       .step = absl::Seconds(2)};
  EXPECT_THAT(Run(request),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("more than 2000000 values at a time; choose a "
                                 "longer step, a shorter time or fewer "
                                 "series")));
  // Windows of groups count like values.
  request.aggregation = Aggregation{.by_instance = true};
  EXPECT_THAT(Run(request), StatusIs(absl::StatusCode::kResourceExhausted,
                                     HasSubstr("values at a time")));
  request.aggregation = Aggregation{};
  EXPECT_OK(Run(request));
  request.aggregation.reset();
  request.step = absl::Seconds(20);
  ASSERT_OK_AND_ASSIGN(const auto results, Run(request));
  EXPECT_THAT(results, SizeIs(kDisks));
}

TEST_F(RangeQuery, RejectsInvalidRanges) {
  DiskAgent agent(&store_);
  agent.Ticks(0, 10, {{agent.Disk("C:"), 2}});
  ASSERT_OK(agent.Send());
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  const struct {
    RangeRequest request;
    absl::StatusCode code;
    const char* message;
  } kCases[] = {
      {{}, kInvalid, "exactly one of since and start"},
      {{.since = absl::Seconds(1), .start = At(0)},
       kInvalid,
       "exactly one of since and start"},
      {{.since = absl::ZeroDuration()}, kInvalid, "since must be more than 0"},
      {{.since = absl::Seconds(9), .step = -absl::Seconds(1)},
       kInvalid,
       "step must not be negative"},
      {{.since = absl::Seconds(9), .step = absl::Nanoseconds(150)},
       kInvalid,
       "step must be a multiple of 100 ns"},
      {{.start = At(5), .end = At(5)}, kInvalid, "ends before it starts"},
      {{.start = At(61)}, kInvalid, "ends before it starts"},
      {{.since = absl::Minutes(1), .step = absl::Minutes(2)},
       kInvalid,
       "the step of 2m is longer than the range of 1m"},
      {{.start = At(0), .end = At(60), .step = absl::Minutes(2)},
       kInvalid,
       "the step of 2m is longer than the range of 1m"},
      {{.start = At(0), .end = At(100'001), .step = absl::Seconds(1)},
       absl::StatusCode::kResourceExhausted,
       "the range has 100001 windows, more than 100000; choose a longer step"},
  };
  for (const auto& test : kCases) {
    RangeRequest request = test.request;
    request.paths = {"\\Disk(*)\\*"};
    EXPECT_THAT(Run(request), StatusIs(test.code, HasSubstr(test.message)));
  }
  EXPECT_THAT(Run({.since = absl::Seconds(1)}),
              StatusIs(kInvalid, HasSubstr("a counter path is required")));
  EXPECT_OK(Run({.paths = {"\\Disk(*)\\*"},
                 .start = At(0),
                 .end = At(100'000),
                 .step = absl::Seconds(1)}));
}

}  // namespace
}  // namespace fleetperf::aggregator
