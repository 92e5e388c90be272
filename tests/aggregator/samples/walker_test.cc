// Lives, pieces and gaps of a series: docs/reference/query-rules.md.

#include "aggregator/samples/walker.h"

#include <gmock/gmock.h>

#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "aggregator/samples/thinned_query.h"
#include "tests/support/countersets.h"
#include "tests/support/raw_samples.h"

namespace fleetperf::aggregator {
namespace {

using testing::At;
using testing::ClocksAt;
using ::testing::ElementsAre;

constexpr uint64_t kOther = MakeLife(1, 2);      // a second life
constexpr uint64_t kRestarted = MakeLife(2, 1);  // after a restart of the agent

// The values of a life at consecutive ticks.
struct Life {
  uint64_t number = testing::kLife;
  bool is_born = false;
  uint32_t first_tick = 0;
  std::vector<uint64_t> values;
  std::vector<uint64_t> bases = {};  // of kBytesPerRead
};

std::shared_ptr<const CollectedQuery> QueryOf(uint32_t counter_id) {
  CollectedQuery query{
      .schema = std::make_shared<const Schema>(
          Schema{.registration = testing::DiskRegistration()}),
      .interval = absl::Seconds(1),
      .columns = {{.counter_id = counter_id, .value_size = 8}}};
  if (counter_id == testing::kBytesPerRead) {
    query.columns.push_back(
        {.counter_id = testing::kReads, .value_size = 8, .only_linked = true});
  }
  return std::make_shared<const CollectedQuery>(std::move(query));
}

// Makes a frame of ticks at these seconds.
Frame FrameOf(std::shared_ptr<const CollectedQuery> query,
              const std::vector<double>& seconds,
              const std::vector<Life>& lives) {
  auto clocks = std::make_shared<std::vector<perflib::Clocks>>();
  for (const double second : seconds) clocks->push_back(ClocksAt(second));
  Frame frame{.query = std::move(query), .clocks = std::move(clocks)};
  frame.columns.resize(frame.query->columns.size());
  for (const Life& life : lives) {
    frame.runs.push_back(
        {.instance = std::make_shared<const Instance>(Instance{
             .name = "sda", .life = life.number, .is_born = life.is_born}),
         .first_tick = life.first_tick,
         .tick_count = static_cast<uint32_t>(life.values.size()),
         .begin = static_cast<uint32_t>(frame.columns[0].values.size())});
    const auto add = [](const std::vector<uint64_t>& values,
                        FrameColumn* column) {
      column->values.insert(column->values.end(), values.begin(), values.end());
    };
    add(life.values, &frame.columns.front());
    if (frame.columns.size() > 1) add(life.bases, &frame.columns.back());
  }
  return frame;
}

std::string SecondsOf(absl::Time time) {
  return absl::FormatDuration(time - testing::kStart);
}

std::string ToText(const WalkedSummary& walked) {
  return absl::StrCat(
      SecondsOf(TimeOf(walked.newest)), ":",
      walked.older != nullptr
          ? absl::StrCat(" after ", SecondsOf(TimeOf(*walked.older)))
          : "",
      walked.life_break.has_value()
          ? absl::StrCat(" ", NameOf(*walked.life_break))
          : "");
}

std::string ToText(const WalkedSample& walked) {
  std::string text = absl::StrCat(SecondsOf(TimeOf(walked.sample)), ":");
  if (walked.piece.has_value()) {
    absl::StrAppend(
        &text, " ",
        walked.piece->sound()
            ? absl::StrCat("+", absl::Uint128Low64(walked.piece->growth.value))
            : std::string(walked.piece->problem.status == ValueStatus::kGap
                              ? NameOf(walked.piece->problem.cause)
                              : StatusName(walked.piece->problem.status)));
  }
  if (walked.tick_interval.length > 0) {
    absl::StrAppend(
        &text, " in ",
        absl::FormatDuration(absl::Nanoseconds(walked.tick_interval.length)));
  }
  return text;
}

// A walk through frames of one series.
class OneSeries {
 public:
  explicit OneSeries(uint32_t counter_id,
                     absl::Time start = absl::InfinitePast(),
                     absl::Time end = absl::InfiniteFuture())
      : OneSeries(QueryOf(counter_id), start, end) {}
  explicit OneSeries(std::shared_ptr<const CollectedQuery> query,
                     absl::Time start = absl::InfinitePast(),
                     absl::Time end = absl::InfiniteFuture())
      : query_(std::move(query)),
        formula_(FormulaOf(query_->schema->registration,
                           *query_->schema->registration.FindCounter(
                               query_->columns[0].counter_id))),
        walker_(start, end) {}

  // Makes a frame of the series' query.
  Frame Make(const std::vector<double>& seconds,
             const std::vector<Life>& lives) const {
    return FrameOf(query_, seconds, lives);
  }
  bool needs_samples() const { return series_.needs_samples(); }
  // Returns what the walker tells of a frame's samples. ForEachGrowth must lead
  // to the same values, and to the same state, which the next frames show.
  std::vector<std::string> Walk(const Frame& frame) {
    std::vector<std::string> told;
    ForEachRun(frame, [&](const SeriesRun& run) {
      WalkedSeries quick = series_;
      std::vector<Value> values;
      walker_.ForEachSample(formula_, run, 0, run.ticks(), &series_,
                            [&](const WalkedSample& walked) {
                              told.push_back(ToText(walked));
                              values.push_back(ValueOf(walked));
                            });
      if (frame.fold.has_value()) return;
      EXPECT_EQ(ValuesByGrowth(run, &quick), values);
      EXPECT_EQ(quick.newest(), series_.newest());
      series_ = quick;
    });
    return told;
  }
  // Returns what it tells of a sample whose tick is in no tick interval.
  std::vector<std::string> Take(const RawSample& sample) {
    std::vector<std::string> told;
    walker_.TakeSample(
        formula_, sample, absl::Seconds(1), &series_,
        [&](const WalkedSample& walked) { told.push_back(ToText(walked)); });
    return told;
  }
  void Skip(const Frame& frame) {
    ForEachRun(frame, [&](const SeriesRun& run) {
      walker_.Follow(formula_, run, 0, run.ticks(), &series_);
    });
  }
  // Returns whether the newest sample is that of a tick of the first run.
  bool IsAt(const Frame& frame, uint32_t tick) const {
    const SeriesColumns columns = ColumnsOf(frame);
    return series_.IsAt(SeriesRun(frame, 0, columns), tick);
  }
  std::optional<absl::Time> newest() const { return series_.newest(); }

  // Makes a frame of thinned data, one tick a minute, with empty summaries.
  Frame MakeThinned(const std::vector<double>& seconds,
                    const std::vector<Life>& lives) const {
    Frame frame = FrameOf(std::make_shared<const CollectedQuery>(
                              ThinnedQuery(*query_, absl::Minutes(1))),
                          seconds, lives);
    const size_t values = frame.columns.front().values.size();
    for (FrameColumn& column : frame.columns) column.values.resize(values);
    return frame;
  }
  std::vector<std::string> WalkThinned(const Frame& frame) {
    std::vector<std::string> told;
    ForEachRun(frame, [&](const SeriesRun& run) {
      walker_.ForEachSummary(
          formula_, run, &series_,
          [&](const WalkedSummary& walked) { told.push_back(ToText(walked)); });
    });
    return told;
  }
  // Returns what the walker tells of the samples joined by stretches.
  std::vector<std::string> WalkStretches(const Frame& frame,
                                         const std::vector<Stretch>& stretches);

 private:
  // A tick, its value, and the length of the tick interval that ends there.
  using Value = std::tuple<uint32_t, CalculatedValue, int64_t>;

  Value ValueOf(const WalkedSample& walked) const {
    return {walked.tick, ValueOfSample(formula_, walked.sample, walked.piece),
            walked.tick_interval.length};
  }
  std::vector<Value> ValuesByGrowth(const SeriesRun& run,
                                    WalkedSeries* series) const {
    std::vector<Value> values;
    walker_.ForEachGrowth(
        formula_, run, 0, run.ticks(), series,
        [&](const WalkedGrowth& walked) {
          values.push_back(
              {walked.tick, walked.ValueOf(formula_), walked.tick_length});
        },
        [&](const WalkedSample& walked) { values.push_back(ValueOf(walked)); });
    return values;
  }
  SeriesColumns ColumnsOf(const Frame& frame) const {
    return *FindSeriesColumns(*frame.query, formula_);
  }
  void ForEachRun(const Frame& frame,
                  absl::FunctionRef<void(const SeriesRun&)> use) {
    const SeriesColumns columns = ColumnsOf(frame);
    walker_.BeginFrame(frame);
    for (size_t i = 0; i < frame.runs.size(); ++i) {
      use(SeriesRun(frame, i, columns));
    }
  }

  const std::shared_ptr<const CollectedQuery> query_;
  const CounterFormula formula_;
  Walker walker_;
  WalkedSeries series_;
};

// Describes what a walker tells of.
class TextListener : public StretchListener {
 public:
  explicit TextListener(std::vector<std::string>* told) : told_(*told) {}

  void OnSample(const WalkedSample& walked) override {
    told_.push_back(ToText(walked));
  }
  void OnPieces(const WalkedPieces& walked) override {
    const WindowAccumulator::Pieces& pieces = walked.pieces;
    told_.push_back(absl::StrCat(
        "window ", walked.stretch.window, ": +",
        absl::Uint128Low64(pieces.growth.value), " by ", pieces.count,
        " pieces from ", SecondsOf(pieces.start), " for ",
        absl::FormatDuration(absl::Nanoseconds(pieces.length)), ", longest ",
        absl::FormatDuration(absl::Nanoseconds(pieces.longest))));
  }
  void OnGauges(const WalkedGauges& walked) override {
    told_.push_back(absl::StrCat(
        "window ", walked.stretch.window, ": ",
        absl::StrJoin(walked.values, " "), ", ", walked.count, " samples",
        walked.total != nullptr ? absl::StrCat(", sum ", walked.total->sum)
                                : ""));
  }

 private:
  std::vector<std::string>& told_;
};

std::vector<std::string> OneSeries::WalkStretches(
    const Frame& frame, const std::vector<Stretch>& stretches) {
  std::vector<std::string> told;
  TextListener listener(&told);
  ForEachRun(frame, [&](const SeriesRun& run) {
    walker_.ForEachStretch(formula_, run, stretches, Joining::kStretches,
                           &series_, &listener);
  });
  return told;
}

// Walks through frames of one series.
std::vector<std::string> WalkThrough(const std::vector<Frame>& frames,
                                     absl::Time start = absl::InfinitePast(),
                                     absl::Time end = absl::InfiniteFuture()) {
  OneSeries series(frames.front().query, start, end);
  std::vector<std::string> told;
  for (const Frame& frame : frames) {
    for (std::string& text : series.Walk(frame)) {
      told.push_back(std::move(text));
    }
  }
  return told;
}

TEST(Walker, JoinsSamplesAcrossFrames) {
  const auto query = QueryOf(testing::kTransfers);
  EXPECT_THAT(
      WalkThrough({FrameOf(query, {0, 1}, {{.values = {10, 12}}}),
                   FrameOf(query, {2, 3.5}, {{.values = {15, 19}}})}),
      ElementsAre("0:", "1s: +2 in 1s", "2s: +3 in 1s", "3.5s: +4 in 1.5s"));
}

TEST(Walker, ALifeThatWasBornGrewFromZeroSinceTheTickBefore) {
  const auto query = QueryOf(testing::kTransfers);
  EXPECT_THAT(
      WalkThrough({FrameOf(query, {1, 2, 3, 4, 5, 6},
                           {{.values = {10, 12}},
                            {.number = kOther,
                             .is_born = true,
                             .first_tick = 4,
                             .values = {3, 4}}})}),
      ElementsAre("1s:", "2s: +2 in 1s", "5s: +3 in 1s", "6s: +1 in 1s"));
}

// Nobody knows how long it grew.
TEST(Walker, ALifeThatWasBornAfterAGapBeginsWithoutAPiece) {
  const auto query = QueryOf(testing::kTransfers);
  EXPECT_THAT(WalkThrough({FrameOf(
                  query, {1, 10, 11},
                  {{.is_born = true, .first_tick = 1, .values = {3, 5}}})}),
              ElementsAre("10s:", "11s: +2 in 1s"));
}

TEST(Walker, NamesTheBreakBetweenTwoLives) {
  const auto query = QueryOf(testing::kTransfers);
  EXPECT_THAT(WalkThrough({FrameOf(
                  query, {1, 2},
                  {{.values = {10}},
                   {.number = kOther, .first_tick = 1, .values = {30}}})}),
              ElementsAre("1s:", "2s: new_life in 1s"));
  EXPECT_THAT(WalkThrough({FrameOf(
                  query, {1, 2},
                  {{.values = {10}},
                   {.number = kRestarted, .first_tick = 1, .values = {30}}})}),
              ElementsAre("1s:", "2s: agent_restart in 1s"));
}

TEST(Walker, NamesGapsAndFalls) {
  const auto query = QueryOf(testing::kTransfers);
  EXPECT_THAT(WalkThrough({FrameOf(query, {1, 2, 3, 9, 10},
                                   {{.values = {10, 4, 6, 8, 9}}})}),
              ElementsAre("1s:", "2s: negative_value in 1s", "3s: +2 in 1s",
                          "9s: no_samples", "10s: +1 in 1s"));
}

// 1030 is a return from 0, not a growth.
TEST(Walker, AReturnInTheNextFrameIsABreak) {
  const auto query = QueryOf(testing::kTransfers);
  EXPECT_THAT(
      WalkThrough({FrameOf(query, {1, 2}, {{.values = {1000, 1010}}}),
                   FrameOf(query, {3, 4, 5}, {{.values = {0, 1030, 1040}}})}),
      ElementsAre("1s:", "2s: +10 in 1s", "3s: negative_value in 1s",
                  "4s: negative_value in 1s", "5s: +10 in 1s"));
}

// The series was not there in the tick interval.
TEST(Walker, ASeriesThatWasAbsentHasNoTickInterval) {
  const auto query = QueryOf(testing::kTransfers);
  EXPECT_THAT(WalkThrough({FrameOf(
                  query, {1, 2, 3},
                  {{.values = {10}}, {.first_tick = 2, .values = {14}}})}),
              ElementsAre("1s:", "3s: +4"));
}

TEST(Walker, GaugesHaveNoPieces) {
  const auto query = QueryOf(testing::kQueueLength);
  EXPECT_THAT(WalkThrough({FrameOf(query, {1, 2}, {{.values = {10, 4}}})}),
              ElementsAre("1s:", "2s: in 1s"));
}

TEST(Walker, TellsOfItsRangeAlone) {
  const auto query = QueryOf(testing::kTransfers);
  const Frame frame =
      FrameOf(query, {1, 2, 3, 4}, {{.values = {10, 12, 15, 19}}});
  EXPECT_THAT(WalkThrough({frame}, At(1), At(3)),
              ElementsAre("2s: +2 in 1s", "3s: +3 in 1s"));
  EXPECT_THAT(WalkThrough({frame}, At(2), At(3)), ElementsAre("3s: +3 in 1s"));
  const Frame gauge = FrameOf(QueryOf(testing::kQueueLength), {1, 2, 3, 4},
                              {{.values = {10, 12, 15, 19}}});
  EXPECT_THAT(WalkThrough({gauge}, At(2), At(3)), ElementsAre("3s: in 1s"));
  // A sample that is too old begins no piece.
  const Frame late = FrameOf(query, {1, 9}, {{.values = {10, 19}}});
  EXPECT_THAT(WalkThrough({late}, At(8), At(9)), ElementsAre("9s:"));
  EXPECT_THAT(WalkThrough({late}, At(3), At(9)), ElementsAre("9s: no_samples"));
}

TEST(Walker, ALifeIsBornOnce) {
  const auto query = QueryOf(testing::kTransfers);
  EXPECT_THAT(
      WalkThrough({FrameOf(query, {1, 2},
                           {{.is_born = true, .first_tick = 1, .values = {3}}}),
                   FrameOf(query, {3}, {{.is_born = true, .values = {5}}})}),
      ElementsAre("2s: +3 in 1s", "3s: +2 in 1s"));
}

// The next piece is a break if the counter fell before it, and returns.
TEST(Walker, FollowsFallsBeforeTheRange) {
  OneSeries series(testing::kTransfers, At(10), At(20));
  EXPECT_THAT(
      series.Walk(series.Make({6, 7, 8, 9, 10, 11, 12},
                              {{.values = {1000, 0, 0, 0, 0, 1010, 1020}}})),
      ElementsAre("11s: negative_value in 1s", "12s: +10 in 1s"));
}

TEST(Walker, AGaugeNeedsNoSampleAtTheTickBefore) {
  const auto query = QueryOf(testing::kQueueLength);
  EXPECT_THAT(WalkThrough({FrameOf(
                  query, {1, 2, 3},
                  {{.values = {10}}, {.first_tick = 2, .values = {14}}})}),
              ElementsAre("1s:", "3s: in 1s"));
}

TEST(Walker, SamplesWithoutATickIntervalAreNoNeighbours) {
  OneSeries series(testing::kTransfers);
  EXPECT_THAT(series.Walk(series.Make({0, 1}, {{.values = {10, 12}}})),
              ElementsAre("0:", "1s: +2 in 1s"));
  EXPECT_THAT(series.Take(testing::SampleAt(1.5, testing::U64(13))),
              ElementsAre("1.5s: +1"));
  EXPECT_THAT(series.Walk(series.Make({2}, {{.values = {15}}})),
              ElementsAre("2s: +2"));
}

TEST(Walker, GoesOnAfterSkippedSamples) {
  OneSeries series(testing::kTransfers);
  series.Skip(series.Make(
      {0, 1, 2}, {{.is_born = true, .first_tick = 1, .values = {10, 12}}}));
  EXPECT_THAT(
      series.Walk(series.Make({3}, {{.is_born = true, .values = {15}}})),
      ElementsAre("3s: +3 in 1s"));
}

TEST(Walker, FollowsFallsInSkippedSamples) {
  // Each fell from 1000 to 0 or 5, and returns to 1010 at 4 s.
  const struct {
    std::vector<std::vector<uint64_t>> frames;  // one tick per second
    bool is_constant = false;
  } kCases[] = {{{{1000, 0, 0, 0}}},         {{{1000, 0}, {0, 0}}},
                {{{1000, 0}, {0}, {0}}},     {{{1000}, {0, 0, 0}}},
                {{{1000, 0}, {0, 0}}, true}, {{{1000}, {0, 0, 0}}, true}};
  for (const auto& test : kCases) {
    OneSeries series(testing::kTransfers);
    double second = 0;
    for (const std::vector<uint64_t>& values : test.frames) {
      std::vector<double> seconds;
      for (size_t i = 0; i < values.size(); ++i) seconds.push_back(second++);
      Frame frame = series.Make(seconds, {{.values = values}});
      if (test.is_constant && values.back() == values.front()) {
        frame.columns[0] = {.constant = true, .values = {values.front()}};
      }
      series.Skip(frame);
    }
    EXPECT_THAT(series.Walk(series.Make({4, 5}, {{.values = {1010, 1013}}})),
                ElementsAre("4s: negative_value in 1s", "5s: +3 in 1s"));
  }
}

TEST(Walker, FollowsTheBaseInSkippedSamples) {
  OneSeries series(testing::kBytesPerRead);
  series.Skip(series.Make(
      {0, 1, 2}, {{.values = {5000, 5050, 5060}, .bases = {100, 0, 0}}}));
  EXPECT_THAT(series.Walk(series.Make(
                  {3, 4}, {{.values = {5100, 5200}, .bases = {110, 120}}})),
              ElementsAre("3s: negative_denominator in 1s", "4s: +100 in 1s"));
}

TEST(Walker, NamesTheBreakBetweenTwoLivesOfThinnedData) {
  for (const bool is_born : {false, true}) {
    OneSeries series(testing::kTransfers);
    EXPECT_THAT(series.WalkThinned(
                    series.MakeThinned({60, 120, 180}, {{.values = {10, 12}},
                                                        {.number = kOther,
                                                         .is_born = is_born,
                                                         .first_tick = 2,
                                                         .values = {3}}})),
                ElementsAre("1m:", "2m: after 1m",
                            is_born ? "3m: after 2m" : "3m: after 2m new_life"))
        << is_born;
  }
}

TEST(Walker, TellsOfTheThinnedDataOfItsRangeAlone) {
  const auto walk = [](double start) {
    OneSeries series(testing::kTransfers, At(start), At(660));
    return series.WalkThinned(
        series.MakeThinned({60, 660, 720}, {{.values = {10, 12, 13}}}));
  };
  EXPECT_THAT(walk(0), ElementsAre("1m:", "11m: after 1m"));
  EXPECT_THAT(walk(60), ElementsAre("11m: after 1m"));
  EXPECT_THAT(walk(240), ElementsAre("11m: after 1m"));
  EXPECT_THAT(walk(241), ElementsAre("11m:"));  // too old
}

// In thinned data, a missing value shows that the life ended before the tick.
TEST(Walker, ALifeThatEndedBeforeAThinnedTickHasNoTickInterval) {
  for (const bool has_ended : {false, true}) {
    OneSeries series(testing::kTransfers);
    Frame thinned = series.MakeThinned({60}, {{.values = {10}}});
    if (has_ended) thinned.columns[0].missing = {0};
    series.WalkThinned(thinned);
    EXPECT_THAT(series.Walk(series.Make({61}, {{.values = {13}}})),
                ElementsAre(has_ended ? "1m1s: no_value" : "1m1s: +3 in 1s"));
  }
}

constexpr int64_t kSecond = 1'000'000'000;  // in ns

TEST(Walker, JoinsThePiecesOfEachWindow) {
  OneSeries series(testing::kTransfers, At(1), At(7.5));
  const std::vector<Stretch> stretches = {
      {.first = 0, .last = 1, .is_before = true, .longest = kSecond},
      {.first = 2,
       .last = 4,
       .window = 1,
       .link = kSecond,
       .longest = kSecond,
       .length = 2 * kSecond},
      {.first = 5,
       .last = 7,
       .window = 2,
       .link = kSecond,
       .longest = kSecond * 3 / 2,
       .length = kSecond * 5 / 2},
      {.first = 8,
       .last = 8,
       .window = 3,
       .is_behind = true,
       .link = kSecond / 2}};
  EXPECT_THAT(
      series.WalkStretches(
          series.Make({0, 1, 2, 3, 4, 5, 6, 7.5, 8},
                      {{.values = {10, 12, 15, 16, 18, 20, 21, 25, 30}}}),
          stretches),
      ElementsAre("window 1: +6 by 3 pieces from 1s for 3s, longest 1s",
                  "window 2: +7 by 3 pieces from 4s for 3.5s, longest 1.5s"));
  EXPECT_EQ(series.newest(), At(7.5));
}

// Only its own pieces, but not those of other instances before it, are longest.
TEST(Walker, AnInstanceMayStartInAStretch) {
  const std::vector<Stretch> kStretches[] = {{{.first = 0, .last = 0},
                                              {.first = 1,
                                               .last = 3,
                                               .window = 1,
                                               .link = 2 * kSecond,
                                               .longest = kSecond,
                                               .length = 2 * kSecond}},
                                             {{.first = 0,
                                               .last = 3,
                                               .window = 1,
                                               .longest = 2 * kSecond,
                                               .length = 4 * kSecond}}};
  for (const std::vector<Stretch>& stretches : kStretches) {
    OneSeries series(testing::kTransfers);
    EXPECT_THAT(
        series.WalkStretches(
            series.Make({0, 2, 3, 4},
                        {{.first_tick = 1, .values = {10, 12, 15}}}),
            stretches),
        ElementsAre("2s:",
                    "window 1: +5 by 2 pieces from 2s for 2s, longest 1s"));
  }
}

// The second tick stands for 5 samples, one per second.
TEST(Walker, TakesAllSamplesOfAFoldedFrame) {
  const std::vector<Stretch> stretches = {
      {.first = 0, .last = 0},
      {.first = 1, .last = 1, .window = 1, .link = kSecond}};
  const auto walk = [&](uint32_t counter_id) {
    OneSeries series(counter_id);
    Frame frame = series.Make({0, 5}, {{.values = {10, 14}}});
    frame.fold = {.ticks = 5, .length = 5 * kSecond, .longest = kSecond};
    if (counter_id == testing::kQueueLength) {
      frame.columns[0].totals = {{.sum = 70, .smallest = 9, .largest = 20}};
    }
    return series.WalkStretches(frame, stretches);
  };
  EXPECT_THAT(walk(testing::kQueueLength),
              ElementsAre("window 0: 10, 1 samples",
                          "window 1: 14, 5 samples, sum 70"));
  EXPECT_THAT(
      walk(testing::kTransfers),
      ElementsAre("0:", "window 1: +4 by 5 pieces from 0 for 5s, longest 1s"));
}

TEST(WalkedSeries, IsAtItsNewestSample) {
  OneSeries series(testing::kTransfers);
  const Frame frame = series.Make({1, 2}, {{.values = {10, 12}}});
  EXPECT_FALSE(series.IsAt(frame, 1));
  series.Walk(frame);
  EXPECT_TRUE(series.IsAt(frame, 1));
  EXPECT_FALSE(series.IsAt(frame, 0));
  EXPECT_FALSE(series.IsAt(
      series.Make({1, 2}, {{.number = kOther, .values = {10, 12}}}), 1));
}

TEST(WalkedInstances, AreThoseOfOneNameIdAndOccurrence) {
  const Schema schema = {.registration = testing::DiskRegistration()};
  const auto make = [](Instance instance) {
    return std::make_shared<const Instance>(std::move(instance));
  };
  WalkedInstances instances;
  auto& first = instances.Of(schema, make({.name = "sda", .life = 1}), 2);
  EXPECT_EQ(first.size(), 2);
  EXPECT_EQ(&instances.Of(schema, make({.name = "sda", .life = 2}), 2), &first);
  EXPECT_NE(&instances.Of(schema, make({.name = "sdb"}), 2), &first);
  EXPECT_NE(&instances.Of(schema, make({.name = "sda", .instance_id = 1}), 2),
            &first);
  EXPECT_NE(&instances.Of(schema, make({.name = "sda", .occurrence = 1}), 2),
            &first);
}

// The second sample after the fall, which may be the return, is in the fold.
TEST(Walker, NeedsTheSamplesOfAFoldThatIsNotJoined) {
  OneSeries series(testing::kTransfers, At(6), At(9));
  Frame fold = series.Make({2, 5}, {{.values = {0, 0}}});
  fold.fold = {.ticks = 3, .length = 3 * kSecond, .longest = kSecond};
  EXPECT_FALSE(series.needs_samples());
  series.Walk(fold);
  EXPECT_TRUE(series.needs_samples());
}

}  // namespace
}  // namespace fleetperf::aggregator
