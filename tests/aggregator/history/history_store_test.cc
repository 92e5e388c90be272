// Answers from a store whose older samples are in an engine are those from one
// store.

#include "aggregator/history/history_store.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "aggregator/export/raw_names.h"
#include "aggregator/query/explain.h"
#include "tests/aggregator/history/fake_engine.h"
#include "tests/aggregator/query/random_machine.h"
#include "tests/support/disk_agent.h"
#include "tests/support/query_results.h"
#include "tests/support/status_matchers.h"
#include "tests/support/store_wrapper.h"
#include "tests/support/test_store.h"

namespace fleetperf::aggregator {
namespace {

using ::testing::AllOf;
using testing::At;
using testing::CollectRangeQuery;
using testing::CollectRawQuery;
using testing::Compaction;
using testing::DiskAgent;
using testing::FakeEngine;
using ::testing::HasSubstr;
using testing::kStart;
using testing::Random;
using testing::StatusIs;
using testing::TestStore;
using testing::WriteRandomMachine;

constexpr absl::Duration kKept = absl::Hours(2);
// The time from the oldest kept samples to the seam.
constexpr absl::Duration kMargin = absl::Minutes(15);

// A store that has dropped its older samples.
class ShortStore : public testing::StoreWrapper {
 public:
  ShortStore(Store* all, absl::Time oldest)
      : StoreWrapper(all), oldest_(oldest) {}

  absl::Status Read(const ReadRequest& request,
                    absl::FunctionRef<absl::Status(const Frame&)> on_frame,
                    absl::FunctionRef<void(const Loss&)> on_loss) override {
    const auto pass_on = [&](const Frame& frame) {
      const auto& clocks = *frame.clocks;
      const bool is_kept = std::any_of(
          clocks.begin(), clocks.end(),
          [&](const auto& tick) { return TimeOf(tick) >= oldest_; });
      return is_kept ? on_frame(frame) : absl::OkStatus();
    };
    return StoreWrapper::Read(request, pass_on, on_loss);
  }

 private:
  const absl::Time oldest_;
};

// A store with an engine, and a seam between their samples.
class SeamStore {
 public:
  SeamStore(Store* all, absl::Time seam)
      : short_(all, seam - absl::Seconds(3)), engine_(new FakeEngine()) {
    history_ = std::make_unique<HistoryStore>(
        &short_, std::unique_ptr<SampleEngine>(engine_),
        [seam](const std::string&) { return seam + kKept - kMargin; }, kKept);
  }

  FakeEngine& engine() { return *engine_; }
  HistoryStore& operator*() { return *history_; }

 private:
  ShortStore short_;
  FakeEngine* const engine_;
  std::unique_ptr<HistoryStore> history_;
};

QueryContext ContextOf(ReadableStore& store) {
  return {.store = store, .now_of = [](const std::string&) { return kStart; }};
}

void Append(const WindowValue& value, std::string* text) {
  absl::StrAppend(text, " ", static_cast<int>(value.result.status), " ",
                  static_cast<int>(value.result.cause), " ", value.result.value,
                  " ", value.breaks, " ", value.coverage, " ", value.presence);
}

// Returns all numbers of an answer.
std::vector<std::string> Text(
    const absl::StatusOr<std::vector<SeriesResult>>& results) {
  if (!results.ok()) return {std::string(results.status().message())};
  std::vector<std::string> text;
  for (const SeriesResult& result : *results) {
    std::string& of_series = text.emplace_back(result.series.path());
    for (const Point& point : result.points) {
      absl::StrAppend(&of_series, "\n", absl::ToUnixNanos(point.time));
      Append(point.value, &of_series);
    }
    of_series += "\ntotal";
    Append(result.total, &of_series);
  }
  return text;
}

std::vector<std::string> Text(
    const absl::StatusOr<std::vector<RawSeries>>& results) {
  if (!results.ok()) return {std::string(results.status().message())};
  std::vector<std::string> text;
  for (const RawSeries& result : *results) {
    std::string& of_series = text.emplace_back(result.series.path());
    for (const RawSample& sample : result.samples) {
      absl::StrAppend(&of_series, "\n", ToProto(sample).ShortDebugString());
    }
  }
  return text;
}

std::string Text(const absl::StatusOr<v1::ExplainValueResponse>& response) {
  return response.ok() ? response->DebugString()
                       : std::string(response.status().message());
}

// Returns the answers to questions of all kinds.
std::vector<std::string> Answers(ReadableStore& store,
                                 const std::string& counterset) {
  RangeRequest request = {.paths = {absl::StrCat("\\", counterset, "(*)\\*")},
                          .start = kStart - absl::Minutes(3),
                          .end = kStart + absl::Minutes(40)};
  std::vector<std::string> answers;
  const auto add = [&](std::vector<std::string> more) {
    answers.insert(answers.end(), more.begin(), more.end());
  };
  add(Text(CollectRawQuery(request, ContextOf(store))));
  for (const absl::Duration step :
       {absl::ZeroDuration(), absl::Seconds(1), absl::Seconds(30)}) {
    for (const Over over : {Over::kFormula, Over::kMaximum, Over::kSum}) {
      request.step = step;
      request.over = over;
      add(Text(CollectRangeQuery(request, ContextOf(store))));
    }
  }
  request.over = Over::kFormula;
  request.aggregation =
      Aggregation{.function = AggregateFunction::kAuto, .by_machine = true};
  add(Text(CollectRangeQuery(request, ContextOf(store))));
  request.aggregation.reset();
  request.choice.top = 1;
  add(Text(CollectRangeQuery(request, ContextOf(store))));
  for (const double seconds : {-60.0, 10.0, 65.5, 200.0}) {
    answers.push_back(
        Text(RunExplain(request.paths[0], At(seconds), store,
                        [](const std::string&) { return kStart; })));
  }
  return answers;
}

// Whether the engine can tell the order of a machine's ticks: clocks that are
// set back during an epoch, or at the seam, hide it.
bool IsOrderKept(Store& store, const std::string& machine, absl::Time seam) {
  std::vector<std::tuple<uint32_t, int64_t>> order;
  std::set<int64_t> millis;
  std::vector<bool> is_later;
  size_t ticks = 0;
  EXPECT_OK(store.Read(
      {.machine = machine,
       .from = absl::InfinitePast(),
       .to = absl::InfiniteFuture()},
      [&](const Frame& frame) {
        for (const perflib::Clocks& tick : *frame.clocks) {
          ++ticks;
          order.emplace_back(frame.epoch_number, tick.perf_time_stamp);
          millis.insert(absl::ToUnixMillis(TimeOf(tick)));
          is_later.push_back(TimeOf(tick) >= seam);
        }
        return absl::OkStatus();
      },
      [](const Loss&) {}));
  return std::is_sorted(order.begin(), order.end()) &&
         std::is_sorted(is_later.begin(), is_later.end()) &&
         millis.size() == ticks;
}

TEST(HistoryStoreTest, AnswersAreThoseOfOneStore) {
  Random random(11);
  int compared = 0;
  for (int i = 0; i < 40 && compared < 5; ++i) {
    TestStore all;
    ASSERT_OK(WriteRandomMachine(
        "web-1", i % 2 == 0 ? Compaction::kNever : Compaction::kAtTheEnd,
        &random, &all));
    const absl::Time seam = At(static_cast<double>(random.Between(-60, 240)));
    if (!IsOrderKept(*all, "web-1", seam)) continue;
    SeamStore history(&*all, seam);
    ASSERT_OK(history.engine().Export(&*all, "web-1"));
    const auto expected = Answers(*all, "Load");
    const auto answers = Answers(*history, "Load");
    ASSERT_EQ(answers.size(), expected.size());
    for (size_t answer = 0; answer < answers.size(); ++answer) {
      ASSERT_EQ(answers[answer], expected[answer])
          << "machine " << i << ", answer " << answer;
    }
    EXPECT_FALSE(history.engine().expressions.empty());
    ++compared;
  }
  EXPECT_EQ(compared, 5);
}

// Two disks, of which one ends and begins again, for `minutes`.
void WriteDisks(int minutes, TestStore* store) {
  DiskAgent agent(store);
  ASSERT_OK(agent.Connect());
  const uint32_t c = agent.Disk("C:");
  uint32_t d = agent.Disk("D:");
  for (int minute = 0; minute < minutes; ++minute) {
    const bool has_d = minute % 3 != 1;
    if (minute % 3 == 2) d = agent.Disk("D:");
    for (int t = minute * 60; t < (minute + 1) * 60; ++t) {
      const auto at = static_cast<uint64_t>(t);
      std::vector<testing::BatchWriter::Row> rows = {{c, {at * 3, at % 7}}};
      // Larger than the whole numbers of a double.
      if (has_d) rows.push_back({d, {(at << 50) + at, 1}});
      agent.AddTick(agent.query, testing::ClocksAt(t), rows);
    }
    ASSERT_OK(agent.Send());
  }
}

// An engine may refuse long times. Pieces are joined without a trace.
TEST(HistoryStoreTest, ReadsPiecesOfTheSizeThatTheEngineAnswers) {
  TestStore all;
  WriteDisks(40, &all);
  SeamStore history(&*all, At(35 * 60));
  ASSERT_OK(history.engine().Export(&*all, "web-1"));
  history.engine().max_answer = 50'000;
  EXPECT_EQ(Answers(*history, "Disk"), Answers(*all, "Disk"));
  history.engine().max_answer = 1000;
  EXPECT_THAT(CollectRangeQuery(
                  {.paths = {"\\Disk(*)\\*"}, .start = kStart, .end = At(600)},
                  ContextOf(*history)),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("select fewer instances or counters")));
}

TEST(HistoryStoreTest, AsksTheEngineOnlyForEarlierSamples) {
  TestStore all;
  WriteDisks(4, &all);
  SeamStore history(&*all, At(100));
  history.engine().failure = absl::UnavailableError("the engine is away");
  const auto ask = [&](double from) {
    return CollectRangeQuery({.paths = {"\\Disk(C:)\\Queue Length"},
                              .start = At(from),
                              .end = At(230)},
                             ContextOf(*history));
  };
  // The first value needs ticks before the start.
  EXPECT_OK(ask(110));
  EXPECT_TRUE(history.engine().expressions.empty());
  EXPECT_THAT(ask(90), StatusIs(absl::StatusCode::kUnavailable,
                                HasSubstr("the engine is away")));
  ASSERT_EQ(history.engine().expressions.size(), 1);
  EXPECT_THAT(history.engine().expressions[0],
              AllOf(HasSubstr("fleetperf_disk_queue_length_raw"),
                    HasSubstr(",machine=\"web-1\","),
                    HasSubstr("instance=~\"(?is:C\\\\:)|\"")));
}

TEST(HistoryStoreTest, CancelledQuestionsEnd) {
  TestStore all;
  WriteDisks(4, &all);
  SeamStore history(&*all, At(100));
  QueryContext context = ContextOf(*history);
  context.is_cancelled = [&] {
    return history.engine().expressions.size() > 3;
  };
  EXPECT_THAT(CollectRangeQuery({.paths = {"\\Disk(*)\\*"},
                                 .start = kStart - absl::Hours(24 * 365 * 20),
                                 .end = At(230)},
                                context),
              StatusIs(absl::StatusCode::kCancelled, ::testing::_));
  EXPECT_LT(history.engine().expressions.size(), 30);
}

}  // namespace
}  // namespace fleetperf::aggregator
