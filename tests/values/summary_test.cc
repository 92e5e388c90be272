// Summaries of pieces and samples, and presence.

#include "values/summary.h"

#include <gtest/gtest.h>

#include "perflib/counter_type.h"
#include "tests/support/raw_samples.h"
#include "values/piece.h"

namespace fleetperf {
namespace {

using testing::FormulaOfType;
using testing::SampleAt;
using testing::U64;

CounterFormula Rate() { return FormulaOfType(perflib::kPerfCounterBulkCount); }

// Returns the summary of the piece of a second that begins at `seconds`, in
// which a rate grows by `growth`; if it is below 0, it falls.
Summary OfPiece(double seconds, int64_t growth) {
  constexpr int64_t kValue = 1000;
  Summary summary;
  summary.AddPiece(
      Rate(), MakePiece(Rate(), SampleAt(seconds, U64(kValue)),
                        SampleAt(seconds + 1,
                                 U64(static_cast<uint64_t>(kValue + growth))),
                        absl::Seconds(1)));
  return summary;
}

TEST(Summary, HasTheExtremesOfPiecesThatDoNotGrow) {
  const Summary summary = OfPiece(0, 0);
  EXPECT_EQ(summary.smallest.growth.denominator, testing::kFreq);
  EXPECT_EQ(summary.largest.growth.denominator, testing::kFreq);
}

TEST(Summary, AddsTheExtremesOfLaterSummaries) {
  Summary sum;
  for (const int64_t growth : {7, 5, 9, 8}) {
    sum.Add(Rate(), OfPiece(static_cast<double>(sum.pieces), growth));
  }
  EXPECT_EQ(sum.growth.value, 29);
  EXPECT_EQ(sum.smallest.value, 5);
  EXPECT_EQ(sum.largest.value, 9);
  EXPECT_EQ(sum.start, testing::kStart);
  EXPECT_EQ(sum.covered, absl::Seconds(4));
}

TEST(Summary, HasTheProblemOfTheLastBreak) {
  Summary sum = OfPiece(0, -1);
  sum.Add(Rate(), OfPiece(1, 5));
  EXPECT_EQ(sum.breaks, 1);
  EXPECT_EQ(sum.pieces, 1);
  EXPECT_EQ(sum.problem.status, ValueStatus::kNegativeValue);
}

// Data in which a series is absent does not show that it grew.
TEST(Summary, AFallEndsWithLaterSamplesOnly) {
  Summary sum = OfPiece(0, -1);
  sum.has_fallen = true;
  sum.Add(Rate(), Summary());
  EXPECT_TRUE(sum.has_fallen);
  sum.Add(Rate(), OfPiece(1, 5));
  EXPECT_FALSE(sum.has_fallen);
}

// Of 10 s, the series was there for 6 s, with breaks of its own in 2 s, and
// absent for 4 s.
TEST(TimeThere, OwnBreaksAreNeitherPresenceNorAbsence) {
  const TimeThere there = {.all = 6'000'000'000, .sound = 4'000'000'000};
  EXPECT_EQ(there.PresenceIn(10'000'000'000), 0.5);
  EXPECT_EQ(there.PresenceIn(6'000'000'000), 1);
}

}  // namespace
}  // namespace fleetperf
