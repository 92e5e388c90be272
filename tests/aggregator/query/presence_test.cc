// Instances that come and go count by the time in which they were there.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "tests/aggregator/query/random_machine.h"
#include "tests/aggregator/query/range_query_fixture.h"
#include "tests/support/status_matchers.h"
#include "tests/support/tasks.h"

namespace fleetperf::aggregator {
namespace {

using testing::At;
using testing::ClocksAt;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::kCpuSecond;
using testing::Random;
using testing::TestAgent;

// An agent that collects the counterset "Task" every second.
class TaskAgent : public TestAgent {
 public:
  explicit TaskAgent(testing::TestStore* store) : TestAgent(store, "web-1") {
    machine_ = Machine("web-1");
    counterset_ = Counterset(testing::TaskRegistration());
    query_ = Query(machine_, counterset_, absl::Seconds(1),
                   {{.counter_id = testing::kTaskTime},
                    {.counter_id = testing::kTaskBytes},
                    {.counter_id = testing::kTaskFaults}});
  }

  uint32_t Task(const std::string& name, bool is_born = false) {
    return Instance(machine_, counterset_, name, /*instance_id=*/0,
                    /*occurrence=*/0, is_born);
  }

  // The processor time, bytes and faults by task.
  using Tasks = std::vector<Row>;
  void Tick(double seconds, Tasks tasks) {
    AddTick(query_, ClocksAt(seconds), std::move(tasks));
  }
  // Changes the size of the values of Bytes.
  void ResizeBytes(uint32_t size) {
    query_ = Query(machine_, counterset_, absl::Seconds(1),
                   {{.counter_id = 1},
                    {.counter_id = 2, .value_size = size},
                    {.counter_id = 3}});
  }
  void Fail(double seconds) {
    AddBlock(query_, ClocksAt(seconds), {{query_, {}, 1460}});
  }

 private:
  uint32_t machine_ = 0;
  uint32_t counterset_ = 0;
  uint32_t query_ = 0;
};

class Presence : public RangeQuery {
 protected:
  // "old" uses 10 % of a processor from 0 s to 10 s. "new" uses all of one from
  // 6 s to 8 s.
  void WriteTasks() {
    TaskAgent agent(&store_);
    const uint32_t old = agent.Task("old");
    const uint32_t brief = agent.Task("new");
    for (uint64_t t = 0; t <= 10; ++t) {
      TaskAgent::Tasks tasks = {{old, {t * kCpuSecond / 10, 100, 4 * t}}};
      if (t >= 6 && t <= 8) {
        tasks.push_back({brief, {t * kCpuSecond, 1000, 4 * t}});
      }
      agent.Tick(static_cast<double>(t), std::move(tasks));
    }
    ASSERT_OK(agent.Send());
  }

  RangeRequest Of(const std::string& counter) {
    return {.paths = {"\\Task(*)\\" + counter}, .start = At(0), .end = At(10)};
  }
  // Returns "name value presence" by series.
  std::vector<std::string> AskPresence(const RangeRequest& request) {
    const auto results = Run(request);
    EXPECT_OK(results);
    std::vector<std::string> texts;
    for (const SeriesResult& result : *results) {
      for (const Point& point : result.points) {
        texts.push_back(absl::StrFormat("%s %g %g", result.series.instance(),
                                        point.value.result.value,
                                        point.value.presence));
      }
    }
    return texts;
  }
  std::vector<std::string> AskGroup(RangeRequest request,
                                    AggregateFunction function) {
    request.aggregation = Aggregation{.function = function};
    return AskPresence(request);
  }
};

TEST_F(Presence, IsThePartOfTheTimeWithPieces) {
  WriteTasks();
  // Rates need a sample at both ends of an interval: from 6 s to 8 s.
  EXPECT_THAT(AskPresence(Of("% Time")),
              ElementsAre("new 100 0.2", "old 10 1"));
  // Gauges need one at the newer end: from 5 s to 8 s.
  EXPECT_THAT(AskPresence(Of("Bytes")),
              ElementsAre("new 1000 0.3", "old 100 1"));
}

TEST_F(Presence, BelongsToTheWindowOfTheNewerTick) {
  WriteTasks();
  RangeRequest request = Of("% Time");
  request.paths = {"\\Task(new)\\% Time"};
  request.step = absl::Milliseconds(3500);  // ticks 1-3, 4-7, 8-10
  request.end = At(10.5);
  EXPECT_THAT(
      AskPresence(request),
      ElementsAre("new 100 0.25", absl::StrFormat("new 100 %g", 1.0 / 3)));
}

TEST_F(Presence, WeighsSumsAveragesAndCounts) {
  WriteTasks();
  EXPECT_THAT(AskGroup(Of("% Time"), AggregateFunction::kSum),
              ElementsAre(" 30 1"));  // 10 + 100 * 0.2
  EXPECT_THAT(AskGroup(Of("% Time"), AggregateFunction::kAverage),
              ElementsAre(" 25 1"));  // 30 / 1.2
  EXPECT_THAT(AskGroup(Of("% Time"), AggregateFunction::kCount),
              ElementsAre(" 1.2 1"));
  EXPECT_THAT(AskGroup(Of("Bytes"), AggregateFunction::kSum),
              ElementsAre(" 400 1"));  // 100 + 1000 * 0.3
  // Of the series that were there.
  EXPECT_THAT(AskGroup(Of("% Time"), AggregateFunction::kMaximum),
              ElementsAre(" 100 1"));
  EXPECT_THAT(AskGroup(Of("% Time"), AggregateFunction::kP50),
              ElementsAre(" 10 1"));
}

TEST_F(Presence, WeighsNeitherDeltasNorSelectedSamples) {
  WriteTasks();
  // Plain deltas: 40 of "old", 8 of "new".
  EXPECT_THAT(AskGroup(Of("Faults"), AggregateFunction::kSum),
              ElementsAre(" 48 1"));
  RangeRequest request = Of("% Time");
  for (const Over over : {Over::kMaximum, Over::kMinimum, Over::kLast}) {
    request.over = over;
    EXPECT_THAT(AskGroup(request, AggregateFunction::kSum),
                ElementsAre(" 110 1"));
  }
  request.over = Over::kAverage;
  EXPECT_THAT(AskGroup(request, AggregateFunction::kSum), ElementsAre(" 30 1"));
}

TEST_F(Presence, WeighsRankings) {
  WriteTasks();
  RangeRequest request = Of("Bytes");
  request.paths = {"\\Task(*)\\% Time"};
  request.choice.where = Condition{Comparison::kGreater, 20};
  EXPECT_THAT(AskPresence(request), IsEmpty());  // 100 * 0.2
  request.choice.where = Condition{Comparison::kGreaterOrEqual, 10};
  request.choice.bottom = 1;
  EXPECT_THAT(AskPresence(request), ElementsAre("old 10 1"));
  request.over = Over::kMaximum;
  request.choice = {.where = Condition{Comparison::kGreater, 20}};
  EXPECT_THAT(AskPresence(request), ElementsAre("new 100 0.2"));
}

TEST_F(Presence, OfAnExpressionIsThatOfBothSides) {
  // "a" is there from 0 s to 6 s, "b" from 4 s to 10 s, "c" always.
  TaskAgent agent(&store_);
  const uint32_t a = agent.Task("a");
  const uint32_t b = agent.Task("b");
  const uint32_t c = agent.Task("c");
  for (uint64_t t = 0; t <= 10; ++t) {
    TaskAgent::Tasks tasks = {{c, {t * kCpuSecond, 1, 1}}};
    if (t <= 6) tasks.push_back({a, {t * kCpuSecond, 1, 1}});
    if (t >= 4) tasks.push_back({b, {t * kCpuSecond / 2, 1, 1}});
    agent.Tick(static_cast<double>(t), std::move(tasks));
  }
  ASSERT_OK(agent.Send());
  RangeRequest request = Of("% Time");
  const auto ask = [&](const std::string& left, const std::string& right) {
    request.paths = {absl::StrFormat(R"(\Task(%s)\%% Time / \Task(%s)\%% Time)",
                                     left, right)};
    return AskPresence(request);
  };
  // Both from 4 s to 6 s, although each was there for 6 s.
  EXPECT_THAT(ask("a", "b"), ElementsAre("a 2 0.2"));
  EXPECT_THAT(ask("a", "c"), ElementsAre("a 1 0.6"));
  EXPECT_THAT(ask("c", "c"), ElementsAre("c 1 1"));
  // Constants are always there; of more series, all were there.
  request.paths = {R"(150 - \Task(a)\% Time * 2 / 4)"};
  EXPECT_THAT(AskPresence(request), ElementsAre("a 100 0.6"));
  request.paths = {
      R"(\Task(c)\% Time / (0.02 * \Task(a)\% Time * \Task(b)\% Time))"};
  EXPECT_THAT(AskPresence(request), ElementsAre("c 1 0.2"));
  request.paths = {R"((\Task(c)\% Time + \Task(b)\% Time) / \Task(a)\% Time)"};
  EXPECT_THAT(AskPresence(request), ElementsAre("c 1.5 0.2"));
  // Rankings use it.
  request.choice.where = Condition{Comparison::kGreater, 0.5};
  EXPECT_THAT(ask("a", "b"), IsEmpty());
  // Windows of 5 s: both from 4 s to 5 s, and from 5 s to 6 s.
  request.choice = {};
  request.step = absl::Seconds(5);
  EXPECT_THAT(ask("a", "b"), ElementsAre("a 2 0.2", "a 2 0.2"));
}

TEST_F(Presence, ExcludesTheTimeWithoutTicks) {
  // Collected since 5 s; a gap of 3 s; the query fails once.
  TaskAgent agent(&store_);
  const uint32_t a = agent.Task("a");
  const uint32_t b = agent.Task("b");
  for (const uint64_t t : {5, 6, 7, 10}) {
    TaskAgent::Tasks tasks = {{a, {t * kCpuSecond, 1, t}}};
    if (t >= 6) tasks.push_back({b, {t * kCpuSecond, 1, t}});
    agent.Tick(static_cast<double>(t), std::move(tasks));
  }
  ASSERT_OK(agent.Send());
  // Of the intervals from 5 s to 6 s and to 7 s.
  EXPECT_THAT(AskPresence(Of("% Time")), ElementsAre("a 100 1", "b 100 0.5"));
  EXPECT_THAT(AskPresence(Of("Bytes")), ElementsAre("a 1 1", "b 1 1"));
}

TEST_F(Presence, JoinsTheTicksBesideAFailedOne) {
  TaskAgent agent(&store_);
  const uint32_t a = agent.Task("a");
  agent.Tick(0, {{a, {0, 1, 0}}});
  agent.Fail(1);
  agent.Tick(2, {{a, {2 * kCpuSecond, 1, 0}}});
  agent.Tick(3, {});
  ASSERT_OK(agent.Send());
  EXPECT_THAT(AskPresence(Of("% Time")),
              ElementsAre(absl::StrFormat("a 100 %g", 2.0 / 3)));
}

// The first instance that has a value of a counter shows its size.
TEST_F(Presence, CountsTheTickAtWhichASizeChanges) {
  TaskAgent agent(&store_);
  const uint32_t old = agent.Task("old");
  const uint32_t first = agent.Task("first", /*is_born=*/true);
  for (uint64_t t = 0; t <= 2; ++t) {
    agent.Tick(static_cast<double>(t), {{old, {0, std::nullopt, 4 * t}}});
    ASSERT_OK(agent.Send());
  }
  agent.ResizeBytes(4);
  agent.Tick(3, {{old, {0, std::nullopt, 12}}, {first, {kCpuSecond, 1000, 4}}});
  ASSERT_OK(agent.Send());
  RangeRequest request = Of("Bytes");
  request.end = At(3);
  EXPECT_THAT(AskGroup(request, AggregateFunction::kSum),
              ElementsAre(absl::StrFormat(" %g 1", 1000.0 / 3)));
  request.paths = {"\\Task(first)\\*"};
  request.step = absl::Seconds(3);
  const std::string third = absl::StrFormat(" %g", 1.0 / 3);
  EXPECT_THAT(AskPresence(request),
              ElementsAre("first 100" + third, "first 1000" + third,
                          "first 4" + third));
}

// A plan with two queries that share a counter, of different instances.
TEST_F(Presence, IsThatInTheQueryOfTheInstance) {
  TestAgent agent(&store_, "web-1");
  const uint32_t machine = agent.Machine("web-1");
  const uint32_t counterset = agent.Counterset(testing::TaskRegistration());
  const uint32_t of_some = agent.Query(machine, counterset, absl::Seconds(1),
                                       {{.counter_id = 1}, {.counter_id = 2}});
  const uint32_t of_others =
      agent.Query(machine, counterset, absl::Seconds(1), {{.counter_id = 1}});
  const auto define = [&](const std::string& name) {
    return agent.Instance(machine, counterset, name, 0, 0, /*is_born=*/true);
  };
  const uint32_t some = define("some");
  const uint32_t other = define("other");
  const uint32_t brief = define("brief");
  for (uint64_t t = 0; t <= 10; ++t) {
    const auto seconds = static_cast<double>(t);
    agent.AddTick(of_some, ClocksAt(seconds), {{some, {t * kCpuSecond, 1}}});
    std::vector<TestAgent::Row> others = {{other, {t * kCpuSecond / 2}}};
    if (t >= 6 && t <= 7) others.push_back({brief, {(t - 5) * kCpuSecond / 4}});
    agent.AddTick(of_others, ClocksAt(seconds + 0.001), std::move(others));
    if (t == 8) continue;  // a batch of two ticks
    ASSERT_OK(agent.Send());
  }
  RangeRequest request = Of("% Time");
  request.end = At(10.5);
  EXPECT_THAT(AskPresence(request),
              ElementsAre("brief 25 0.2", "other 50 1", "some 100 1"));
}

TEST_F(Presence, OfABornInstanceBeginsWithTheTickBefore) {
  TaskAgent agent(&store_);
  const uint32_t first = agent.Task("a", /*is_born=*/true);
  const uint32_t second = agent.Task("a", /*is_born=*/true);
  agent.Tick(0, {});
  agent.Tick(1, {{first, {kCpuSecond / 2, 1, 7}}});
  // Its process id was used again within a second.
  agent.Tick(2, {{second, {kCpuSecond / 4, 1, 1}}});
  agent.Tick(3, {});
  agent.Tick(4, {});
  ASSERT_OK(agent.Send());
  // 0.75 s in 2 s of 4 s.
  EXPECT_THAT(AskPresence(Of("% Time")), ElementsAre("a 37.5 0.5"));
  EXPECT_THAT(AskPresence(Of("Faults")), ElementsAre("a 8 0.5"));
  EXPECT_THAT(Ask(Of("% Time")),
              ElementsAre("web-1 \\Task(a)\\% Time", "10: 37.5 coverage=0.2"));
}

// Tasks start, run and end at any time. `total` also grows by what tasks that
// ended used after the last tick that had them.
class Churn {
 public:
  Churn(testing::TestStore* store, uint64_t seed)
      : agent_(store), random_(seed), total_id_(agent_.Task("_Total")) {}

  absl::Status Write(int ticks) {
    for (int t = 0; t < ticks; ++t) {
      if (t > 0) PassSecond();
      if (random_.OneIn(12)) {
        agent_.Fail(t);
        continue;
      }
      Tick(t);
      if (random_.OneIn(5)) RETURN_IF_ERROR(agent_.Send());
    }
    return agent_.Send();
  }

  // What no series has, by the second of the tick that ends the interval.
  const std::map<int, uint64_t>& unreported() const { return unreported_; }

 private:
  struct Running {
    uint32_t definition = 0;  // 0: in no tick yet
    uint64_t used = 0;
    uint64_t reported = 0;
  };

  void PassSecond() {
    for (int i = 0; i < 8; ++i) {
      const std::string name = absl::StrCat("task ", i);
      if (running_.contains(name) ? random_.OneIn(4) : false) End(name);
      if (!running_.contains(name) && random_.OneIn(4)) running_[name] = {};
      if (!running_.contains(name)) continue;
      const uint64_t used = random_.Below(kCpuSecond);
      running_[name].used += used;
      total_ += used;
      if (random_.OneIn(10)) End(name);  // maybe before any tick
    }
  }

  void End(const std::string& name) {
    const Running& task = running_[name];
    lost_ += task.used - task.reported;
    running_.erase(name);
  }

  void Tick(int seconds) {
    TaskAgent::Tasks tasks = {{total_id_, {total_, 0, 0}}};
    for (auto& [name, task] : running_) {
      if (task.definition == 0) {
        task.definition = agent_.Task(name, /*is_born=*/had_tick_);
      }
      task.reported = task.used;
      tasks.push_back({task.definition, {task.used, 0, 0}});
    }
    agent_.Tick(seconds, std::move(tasks));
    had_tick_ = true;
    unreported_[seconds] = std::exchange(lost_, 0);
  }

  TaskAgent agent_;
  Random random_;
  const uint32_t total_id_;
  std::map<std::string, Running> running_;
  uint64_t total_ = 0;
  uint64_t lost_ = 0;  // since the last tick
  bool had_tick_ = false;
  std::map<int, uint64_t> unreported_;
};

// Sum over tasks, plus what no series has, is the total in every window.
TEST_F(Presence, SumsToTheTotal) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    testing::TestStore store;
    Churn churn(&store, seed);
    ASSERT_OK(churn.Write(100));
    if (seed % 2 == 0) {
      ASSERT_OK(store.Compact());
    }
    const auto ask = [&](const std::string& instance) {
      return testing::CollectRangeQuery(
          {.paths = {"\\Task(" + instance + ")\\% Time"},
           .start = At(0),
           .end = At(99),
           .step = absl::Seconds(9),
           .aggregation = Aggregation{.function = AggregateFunction::kSum}},
          {.store = *store,
           .now_of = [](const std::string&) { return At(99); }});
    };
    ASSERT_OK_AND_ASSIGN(const auto sums, ask("*"));
    ASSERT_OK_AND_ASSIGN(const auto totals, ask("_Total"));
    ASSERT_EQ(sums.size(), 1);
    ASSERT_EQ(totals.size(), 1);
    ASSERT_EQ(sums[0].points.size(), totals[0].points.size());
    for (size_t i = 0; i < sums[0].points.size(); ++i) {
      const Point& sum = sums[0].points[i];
      const Point& total = totals[0].points[i];
      // The time of the window's tick intervals: up to 3 ticks may fail in a
      // row, and then the interval is a gap.
      uint64_t lost = 0;
      int previous = -1;
      double time = 0;
      for (const auto& [seconds, unreported] : churn.unreported()) {
        const bool is_joined = previous >= 0 && seconds - previous <= 2;
        if (is_joined && At(seconds) > sum.time - absl::Seconds(9) &&
            At(seconds) <= sum.time) {
          lost += unreported;
          time += seconds - previous;
        }
        previous = seconds;
      }
      EXPECT_NEAR(sum.value.result.value +
                      100 * static_cast<double>(lost) / (time * kCpuSecond),
                  total.value.result.value, 1e-9)
          << sum.time;
    }
  }
}

}  // namespace
}  // namespace fleetperf::aggregator
