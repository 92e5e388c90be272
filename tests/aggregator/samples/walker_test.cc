// Lives, pieces and gaps of a series: docs/reference/query-rules.md.

#include "aggregator/samples/walker.h"

#include <gmock/gmock.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
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
};

std::shared_ptr<const CollectedQuery> QueryOf(uint32_t counter_id) {
  return std::make_shared<const CollectedQuery>(
      CollectedQuery{.schema = std::make_shared<const Schema>(
                         Schema{.registration = testing::DiskRegistration()}),
                     .interval = absl::Seconds(1),
                     .columns = {{.counter_id = counter_id, .value_size = 8}}});
}

// Makes a frame of ticks at these seconds.
Frame FrameOf(std::shared_ptr<const CollectedQuery> query,
              const std::vector<double>& seconds,
              const std::vector<Life>& lives) {
  auto clocks = std::make_shared<std::vector<perflib::Clocks>>();
  for (const double second : seconds) clocks->push_back(ClocksAt(second));
  Frame frame{.query = std::move(query), .clocks = std::move(clocks)};
  FrameColumn& column = frame.columns.emplace_back();
  for (const Life& life : lives) {
    frame.runs.push_back(
        {.instance = std::make_shared<const Instance>(Instance{
             .name = "sda", .life = life.number, .is_born = life.is_born}),
         .first_tick = life.first_tick,
         .tick_count = static_cast<uint32_t>(life.values.size()),
         .begin = static_cast<uint32_t>(column.values.size())});
    column.values.insert(column.values.end(), life.values.begin(),
                         life.values.end());
  }
  return frame;
}

std::string ToText(const WalkedSample& walked) {
  std::string text = absl::StrCat(
      absl::FormatDuration(TimeOf(walked.sample) - testing::kStart), ":");
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

// Walks through frames of one series.
std::vector<std::string> WalkThrough(const std::vector<Frame>& frames,
                                     absl::Time start = absl::InfinitePast(),
                                     absl::Time end = absl::InfiniteFuture()) {
  Walker walker(start, end);
  const auto& query = *frames.front().query;
  const auto& registration = query.schema->registration;
  const CounterFormula formula = FormulaOf(
      registration, *registration.FindCounter(query.columns[0].counter_id));
  const auto columns = FindSeriesColumns(query, formula);
  WalkedSeries series;
  std::vector<std::string> told;
  for (const Frame& frame : frames) {
    walker.BeginFrame(frame);
    for (size_t i = 0; i < frame.runs.size(); ++i) {
      const SeriesRun run(frame, i, *columns);
      walker.ForEachSample(
          formula, run, 0, run.ticks(), &series,
          [&](const WalkedSample& walked) { told.push_back(ToText(walked)); });
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
  // A sample that is too old begins no piece.
  const Frame late = FrameOf(query, {1, 9}, {{.values = {10, 19}}});
  EXPECT_THAT(WalkThrough({late}, At(8), At(9)), ElementsAre("9s:"));
  EXPECT_THAT(WalkThrough({late}, At(3), At(9)), ElementsAre("9s: no_samples"));
}

// The second sample after the fall, which may be the return, is in the fold.
TEST(Walker, NeedsTheSamplesOfAFoldThatIsNotJoined) {
  const auto query = QueryOf(testing::kTransfers);
  Frame fold = FrameOf(query, {2, 5}, {{.values = {0, 0}}});
  fold.fold = {.ticks = 3, .length = 3'000'000'000, .longest = 1'000'000'000};
  WalkedSeries series;
  Walker walker(At(6), At(9));
  const auto& registration = query->schema->registration;
  const CounterFormula formula =
      FormulaOf(registration, *registration.FindCounter(testing::kTransfers));
  const auto columns = FindSeriesColumns(*query, formula);
  walker.BeginFrame(fold);
  walker.ForEachSample(formula, SeriesRun(fold, 0, *columns), 0, 1, &series,
                       [](const WalkedSample&) {});
  EXPECT_FALSE(series.needs_samples());
  walker.ForEachSample(formula, SeriesRun(fold, 0, *columns), 1, 2, &series,
                       [](const WalkedSample&) {});
  EXPECT_TRUE(series.needs_samples());
}

}  // namespace
}  // namespace fleetperf::aggregator
