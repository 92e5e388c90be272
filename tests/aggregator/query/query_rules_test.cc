// Rules of docs/reference/query-rules.md that other tests do not cover.

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "aggregator/query/aggregation.h"
#include "perflib/counter_type.h"
#include "perflib/guid.h"
#include "tests/aggregator/query/range_query_fixture.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::aggregator {
namespace {

using testing::At;
using testing::ClocksAt;
using ::testing::ElementsAre;
using testing::TestAgent;

constexpr uint64_t kJobSecond = 10'000'000;  // of processor time

perflib::CountersetRegistration JobRegistration() {
  return {.guid = *perflib::ParseGuid("{00000000-0000-4000-8000-0000000007a6}"),
          .name = "Job",
          .instance_type = perflib::kCountersetMultipleInstances,
          .counters = {{.counter_id = 1,
                        .type = perflib::kPerf100NsecTimer,
                        .name = "% Time"},
                       {.counter_id = 2,
                        .type = perflib::kPerfCounterLargeRawcount,
                        .name = "Bytes"},
                       {.counter_id = 3,
                        .type = perflib::kPerfCounterMultiTimer,
                        .multi_id = 4,
                        .name = "% Busy"},
                       {.counter_id = 4,
                        .type = perflib::kPerfCounterRawcount,
                        .name = "Parts"},
                       {.counter_id = 5,
                        .type = perflib::kPerfAverageTimer,
                        .base_counter_id = 6,
                        .name = "Wait"},
                       {.counter_id = 6, .type = perflib::kPerfAverageBase}}};
}

// An agent that collects the counterset "Job".
class JobAgent : public TestAgent {
 public:
  JobAgent(testing::TestStore* store, const std::string& machine)
      : TestAgent(store, machine) {
    machine_ = Machine(machine);
    counterset_ = Counterset(JobRegistration());
  }

  void SetPlan(absl::Duration interval) {
    query_ = Query(machine_, counterset_, interval,
                   {{.counter_id = 1},
                    {.counter_id = 2},
                    {.counter_id = 3},
                    {.counter_id = 4, .value_size = 4},
                    {.counter_id = 5, .value_size = 4},
                    {.counter_id = 6, .value_size = 4, .only_linked = true}});
  }
  uint32_t Job(const std::string& name, uint32_t id = 0, bool is_born = false) {
    return Instance(machine_, counterset_, name, id, /*occurrence=*/0, is_born);
  }

  struct Values {
    uint32_t job = 0;
    std::optional<uint64_t> time = 0;
    uint64_t bytes = 0;
    uint64_t busy = 0;
    std::optional<uint64_t> parts = 1;
    uint64_t wait = 0;
    uint64_t waits = 0;
  };
  void Tick(const perflib::Clocks& clocks, const std::vector<Values>& jobs) {
    std::vector<Row> rows;
    for (const Values& one : jobs) {
      rows.push_back(
          {one.job,
           {one.time, one.bytes, one.busy, one.parts, one.wait, one.waits}});
    }
    AddTick(query_, clocks, std::move(rows));
  }
  void Tick(double seconds, const std::vector<Values>& jobs) {
    Tick(ClocksAt(seconds), jobs);
  }

 private:
  uint32_t machine_ = 0;
  uint32_t counterset_ = 0;
  uint32_t query_ = 0;
};

class QueryRules : public RangeQuery {
 protected:
  RangeRequest Of(const std::string& path, double start, double end,
                  double step = 0) {
    return {.paths = {path},
            .start = At(start),
            .end = At(end),
            .step = absl::Seconds(step)};
  }
};

TEST_F(QueryRules, MissingPartsBreakAMultiTimer) {
  JobAgent agent(&store_, "web-1");
  agent.SetPlan(absl::Seconds(1));
  const uint32_t a = agent.Job("a");
  const uint64_t busy[] = {0, 2, 10, 12, 14};
  for (size_t t = 0; t < 5; ++t) {
    agent.Tick(static_cast<double>(t),
               {{.job = a,
                 .busy = busy[t],
                 .parts = t == 2 ? std::nullopt : std::optional<uint64_t>(2)}});
  }
  ASSERT_OK(agent.Send());
  // 2 per second; the piece to the sample without parts does not count.
  EXPECT_THAT(Ask(Of("\\Job(a)\\% Busy", 0, 4)),
              ElementsAre("web-1 \\Job(a)\\% Busy",
                          "4: 100 no_value breaks=1 coverage=0.75"));
}

TEST_F(QueryRules, AChangeOfThePlanBeginsANewQuery) {
  JobAgent agent(&store_, "web-1");
  const uint32_t a = agent.Job("a");
  const auto collect = [&](int interval, std::vector<int> ticks) {
    agent.SetPlan(absl::Seconds(interval));
    for (const int t : ticks) {
      agent.Tick(t,
                 {{.job = a, .time = kJobSecond * static_cast<uint64_t>(t)}});
    }
  };
  collect(5, {0, 5});
  collect(2, {7, 9});
  collect(5, {14, 19});
  ASSERT_OK(agent.Send());
  const auto results = Run(Of("\\Job(a)\\% Time", 0, 20));
  ASSERT_OK(results);
  EXPECT_EQ(results->front().total.result.value, 100);
  // 5 s and 14 s are not neighbours, although both queries are alike.
  EXPECT_EQ(results->front().total.presence, 1);
}

TEST_F(QueryRules, AveragesTimesOfDifferentFrequenciesExactly) {
  for (const int64_t freq : {3'000'000, 10'000'000}) {
    JobAgent agent(&store_, absl::StrFormat("web-%d", freq));
    agent.SetPlan(absl::Seconds(1));
    const uint32_t a = agent.Job("a");
    for (const uint32_t t : {0, 1}) {
      perflib::Clocks clocks = ClocksAt(t);
      clocks.perf_time_stamp = t * freq;
      clocks.perf_freq = freq;
      agent.Tick(clocks, {{.job = a, .wait = t, .waits = t}});
    }
    ASSERT_OK(agent.Send());
  }
  RangeRequest request = Of("\\Job(a)\\Wait", 0, 1);
  request.aggregation = Aggregation{.function = AggregateFunction::kAverage};
  const auto results = Run(request);
  ASSERT_OK(results);
  // One tick of each.
  EXPECT_DOUBLE_EQ(results->front().total.result.value, 13 / 6e7);
}

TEST(AggregatedWindow, AveragesRatiosBesideASeriesWithoutAValue) {
  CounterFormula timer;
  timer.formula = perflib::Formula::kTimer;
  CounterFormula fraction;
  fraction.known_type = true;
  fraction.formula = perflib::Formula::kSampleFraction;
  AggregatedWindow window;
  const auto add = [&](const CounterFormula& formula,
                       const WindowValue& value) {
    window.Add(formula, AggregateFunction::kAverage, value);
  };
  add(timer, {.result = CalculatedValue::Gap(GapCause::kNoSamples)});
  add(fraction, {.result = CalculatedValue::Of(10),
                 .ratio = {.value = 3, .denominator = 30}});
  add(fraction, {.result = CalculatedValue::Of(20),
                 .ratio = {.value = 2, .denominator = 10}});
  // (10 * 30 + 20 * 10) / (30 + 10).
  EXPECT_EQ(window.Finish(AggregateFunction::kAverage).result.value, 12.5);
}

TEST_F(QueryRules, AGaugeOfAnAbsentInstanceDoesNotHold) {
  JobAgent agent(&store_, "web-1");
  agent.SetPlan(absl::Seconds(1));
  const uint32_t a = agent.Job("a");
  for (int t = 1; t <= 6; ++t) {
    std::vector<JobAgent::Values> jobs;
    if (t <= 2 || t >= 5) jobs.push_back({.job = a, .bytes = 7});
    agent.Tick(t, jobs);
  }
  ASSERT_OK(agent.Send());
  EXPECT_THAT(Ask(Of("\\Job(a)\\Bytes", 0, 6, 2)),
              ElementsAre("web-1 \\Job(a)\\Bytes", "2: 7",
                          "4: gap no_samples coverage=0", "6: 7"));
}

TEST_F(QueryRules, LooksBackByTheIntervalOfAnEarlierPlan) {
  JobAgent agent(&store_, "web-1");
  const uint32_t a = agent.Job("a");
  for (const int t : {0, 5, 10, 11, 12, 13}) {
    if (t == 0) agent.SetPlan(absl::Seconds(5));
    if (t == 11) agent.SetPlan(absl::Seconds(1));
    agent.Tick(t, {{.job = a, .time = kJobSecond * static_cast<uint64_t>(t)}});
    ASSERT_OK(agent.Send());
  }
  EXPECT_THAT(Ask(Of("\\Job(a)\\% Time", 9, 10)),
              ElementsAre("web-1 \\Job(a)\\% Time", "10: 100"));
}

TEST_F(QueryRules, TheLastSeriesOfAGroupIsTheLastByPath) {
  JobAgent agent(&store_, "web-1");
  agent.SetPlan(absl::Seconds(1));
  const uint32_t b = agent.Job("b");
  const uint32_t a = agent.Job("a");
  agent.Tick(0, {{.job = b, .time = 5}, {.job = a, .time = 5}});
  agent.Tick(1, {{.job = b, .time = std::nullopt}, {.job = a, .time = 1}});
  ASSERT_OK(agent.Send());
  RangeRequest request = Of("\\Job(*)\\% Time", 0, 1);
  request.aggregation = Aggregation{.function = AggregateFunction::kSum};
  EXPECT_THAT(Ask(request), ElementsAre(" \\Job\\% Time",
                                        "1: gap no_value breaks=2 coverage=0"));
}

TEST_F(QueryRules, CountsTheSeriesOfACountersetOfAllUnits) {
  JobAgent agent(&store_, "web-1");
  agent.SetPlan(absl::Seconds(1));
  const uint32_t a = agent.Job("a");
  const uint32_t b = agent.Job("b");
  for (const uint64_t t : {0, 1}) {
    agent.Tick(static_cast<double>(t),
               {{.job = a, .time = t, .wait = t, .waits = t},
                {.job = b, .time = t, .wait = t, .waits = t}});
  }
  ASSERT_OK(agent.Send());
  RangeRequest request = Of("\\Job(*)\\*", 0, 1);
  request.aggregation = Aggregation{.function = AggregateFunction::kCount,
                                    .across_counters = true};
  // 5 counters of 2 jobs.
  EXPECT_THAT(Ask(request), ElementsAre(" \\Job\\*", "1: 10"));
}

class ThinnedRules : public QueryRules {
 protected:
  // Two jobs named "a": one with id 1 and 1 byte in the first minute, one with
  // id 2 and 2 bytes until 149.5 s. A tick each second.
  void WriteMinutes() {
    JobAgent agent(&store_, "web-1");
    agent.SetPlan(absl::Seconds(1));
    const uint32_t first = agent.Job("a", 1);
    const uint32_t second = agent.Job("a", 2);
    for (int t = 0; t < 150; ++t) {
      std::vector<JobAgent::Values> jobs;
      if (t < 60) jobs.push_back({.job = first, .bytes = 1});
      jobs.push_back({.job = second, .bytes = 2});
      agent.Tick(t + 0.5, jobs);
    }
    ASSERT_OK(agent.Send());
    ASSERT_OK(store_.Compact());
    ASSERT_OK(store_.Thin(Resolution::kMinute));
  }
};

TEST_F(ThinnedRules, IndexesAreAmongTheInstancesOfTheRange) {
  WriteMinutes();
  EXPECT_THAT(Ask(Of("\\Job(a#0)\\Bytes", 0, 180)),
              ElementsAre("web-1 \\Job(a)\\Bytes", "180: 1 coverage=0.328"));
  EXPECT_THAT(Ask(Of("\\Job(a#1)\\Bytes", 0, 180)),
              ElementsAre("web-1 \\Job(a#1)\\Bytes", "180: 2 coverage=0.828"));
  EXPECT_THAT(Ask(Of("\\Job(a#0)\\Bytes", 60, 180)),
              ElementsAre("web-1 \\Job(a)\\Bytes", "180: 2 coverage=0.75"));
}

TEST_F(ThinnedRules, WindowsOfAShortStepAreLabeledWithTheirMinutes) {
  WriteMinutes();
  EXPECT_THAT(Ask(Of("\\Job(a#1)\\Bytes", 0, 150, 10)),
              ElementsAre("web-1 \\Job(a#1)\\Bytes", "60: 2", "120: 2",
                          "150: 2"));  // the end of the range
}

TEST_F(ThinnedRules, PresenceIncludesTheTimeBeforeTheFirstPiece) {
  // The first sample is at 29.5 s, at the end of what is thinned first.
  JobAgent agent(&store_, "web-1");
  agent.SetPlan(absl::Seconds(1));
  const uint32_t a = agent.Job("a");
  for (int t = 0; t < 60; ++t) {
    std::vector<JobAgent::Values> jobs;
    if (t >= 29) {
      jobs.push_back({.job = a, .time = kJobSecond * static_cast<uint64_t>(t)});
    }
    agent.Tick(t + 0.5, jobs);
    if (t != 29 && t != 59) continue;
    ASSERT_OK(agent.Send());
    ASSERT_OK(store_.Compact());
    ASSERT_OK(store_.Thin(Resolution::kMinute));
  }
  const auto results = Run(Of("\\Job(a)\\% Time", 0, 60, 10));
  ASSERT_OK(results);
  const std::vector<Point>& points = results->front().points;
  ASSERT_EQ(points.size(), 1);
  EXPECT_EQ(points[0].time, At(60));
  EXPECT_EQ(points[0].value.result.value, 100);
  // There from 29.5 s to 59.5 s; absent since 0.5 s.
  EXPECT_DOUBLE_EQ(points[0].value.presence, 30 / 59.0);
}

// Example: the window (60 s, 120 s] is covered from 59.5 s to 119.4 s. The next
// window counts the piece that ends after it.
TEST_F(ThinnedRules, CoversAWindowInWhichAnInstanceIsReplaced) {
  JobAgent agent(&store_, "web-1");
  agent.SetPlan(absl::Seconds(1));
  const auto thin = [&] {
    ASSERT_OK(agent.Send());
    ASSERT_OK(store_.Compact());
    ASSERT_OK(store_.Thin(Resolution::kMinute));
  };
  const uint32_t first = agent.Job("a");
  for (int t = 0; t < 90; ++t) {
    agent.Tick(t + 0.5, {{.job = first, .time = kJobSecond * uint64_t(t)}});
    if (t == 59) thin();
  }
  const uint32_t second = agent.Job("a", /*id=*/0, /*is_born=*/true);
  for (int t = 90; t < 130; ++t) {
    const uint64_t tenths = 10 * uint64_t(t - 90) + 9;  // since 89.5 s
    agent.Tick(t + 0.4, {{.job = second, .time = kJobSecond / 10 * tenths}});
  }
  thin();
  EXPECT_THAT(Ask(Of("\\Job(a)\\% Time", 60, 120, 60)),
              ElementsAre("web-1 \\Job(a)\\% Time", "120: 100"));
}

}  // namespace
}  // namespace fleetperf::aggregator
