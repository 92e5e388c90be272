// The summaries of thinned data as numbers in columns.

#include "aggregator/samples/thinned_query.h"

#include <gtest/gtest.h>

#include <iterator>
#include <optional>
#include <vector>

#include "perflib/counter_type.h"
#include "tests/support/raw_samples.h"
#include "values/piece.h"

namespace fleetperf::aggregator {
namespace {

using testing::FormulaOfType;
using testing::SampleAt;
using testing::U64;

constexpr uint32_t kRate = perflib::kPerfCounterBulkCount;
constexpr uint32_t kGauge = perflib::kPerfCounterLargeRawcount;
constexpr uint32_t kFraction = perflib::kPerfRawFraction;
constexpr absl::Duration kInterval = absl::Seconds(1);

// A tick of thinned data, and the sample at the tick before.
struct Tick {
  uint32_t type = kRate;
  Summary summary;
  std::optional<RawSample> older;
  RawSample newer;

  SummaryNumbers Encode() const {
    return EncodeSummary(FormulaOfType(type), summary, Older(), newer,
                         kInterval);
  }
  Summary Decode(const SummaryNumbers& numbers) const {
    return DecodeSummary(FormulaOfType(type), numbers, Older(), newer,
                         kInterval);
  }
  const RawSample* Older() const {
    return older.has_value() ? &*older : nullptr;
  }
};

// The start matters for pieces only.
void ExpectEqual(uint32_t type, const Summary& a, const Summary& b) {
  if (FormulaOfType(type).uses_two_samples()) {
    EXPECT_EQ(a.start, b.start);
  }
  EXPECT_EQ(a.growth.value, b.growth.value);
  EXPECT_EQ(a.growth.denominator, b.growth.denominator);
  EXPECT_EQ(a.smallest.value, b.smallest.value);
  EXPECT_EQ(a.smallest.growth.denominator, b.smallest.growth.denominator);
  EXPECT_EQ(a.largest.value, b.largest.value);
  EXPECT_EQ(a.largest.growth.denominator, b.largest.growth.denominator);
  EXPECT_EQ(a.sum.Split(), b.sum.Split());
  EXPECT_EQ(a.pieces, b.pieces);
  EXPECT_EQ(a.values, b.values);
  EXPECT_EQ(a.breaks, b.breaks);
  EXPECT_EQ(a.problem, b.problem);
  EXPECT_EQ(a.covered, b.covered);
  EXPECT_EQ(a.has_fallen, b.has_fallen);
}

// Returns the tick at the last of samples, with the summary of the pieces
// between them.
Tick TickOf(uint32_t type, const std::vector<RawSample>& samples) {
  Tick tick = {.type = type, .older = samples.front(), .newer = samples.back()};
  for (size_t i = 1; i < samples.size(); ++i) {
    tick.summary.AddPiece(
        FormulaOfType(type),
        MakePiece(FormulaOfType(type), samples[i - 1], samples[i], kInterval));
  }
  return tick;
}

Tick TickOfSamples(uint32_t type, const std::vector<RawSample>& samples) {
  Tick tick = {.type = type, .older = samples.front(), .newer = samples.back()};
  for (const RawSample& sample : samples) {
    tick.summary.AddSample(FormulaOfType(type), sample);
  }
  return tick;
}

TEST(ThinnedQuery, EncodesSummariesExactly) {
  constexpr uint64_t kLarge = uint64_t{1} << 63;
  Tick fallen = TickOf(
      kRate, {SampleAt(0, U64(7)), SampleAt(1, U64(0)), SampleAt(2, U64(0))});
  fallen.summary.has_fallen = true;
  const Tick kTicks[] = {
      TickOf(kRate,
             {SampleAt(0, U64(5)), SampleAt(1, U64(5)), SampleAt(2.1, U64(9))}),
      fallen,
      // A gap: the pieces begin after the older sample.
      TickOf(kRate,
             {SampleAt(0, U64(5)), SampleAt(10, U64(6)), SampleAt(11, U64(9))}),
      // A piece without growth has a value, if its base grew.
      TickOf(testing::kAverageBulk,
             {SampleAt(0, U64(5), U64(1)), SampleAt(1, U64(5), U64(6)),
              SampleAt(2, U64(9), U64(8)), SampleAt(3, U64(9), U64(8))}),
      // Sums of more than 64 bits.
      TickOfSamples(kGauge, {SampleAt(0, U64(kLarge)), SampleAt(1, U64(3)),
                             SampleAt(2, U64(kLarge + 5))}),
      // A sum of three doubles: 100 * (2^52 + 1/3 + 1/(3 * 2^60)).
      TickOfSamples(kFraction, {SampleAt(0, U64(uint64_t{1} << 52), U64(1)),
                                SampleAt(1, U64(1), U64(3)),
                                SampleAt(2, U64(1), U64(uint64_t{3} << 60))})};
  for (size_t i = 0; i < std::size(kTicks); ++i) {
    SCOPED_TRACE(i);
    ExpectEqual(kTicks[i].type, kTicks[i].Decode(kTicks[i].Encode()),
                kTicks[i].summary);
  }
}

// Later, the tick may follow another one.
TEST(ThinnedQuery, ASummaryWithoutAnOlderSampleStaysSo) {
  for (const uint32_t type : {kRate, kGauge}) {
    const std::vector<RawSample> samples = {SampleAt(1, U64(6)),
                                            SampleAt(2, U64(9))};
    Tick tick =
        type == kRate ? TickOf(type, samples) : TickOfSamples(type, samples);
    const RawSample older = SampleAt(0, U64(2));
    tick.older.reset();
    SummaryNumbers numbers = tick.Encode();
    tick.older = older;
    ExpectEqual(type, tick.Decode(numbers), tick.summary);
    // Likewise if the older sample is removed later.
    numbers = tick.Encode();
    RemoveOlder(FormulaOfType(type), older, tick.newer, &numbers);
    ExpectEqual(type, tick.Decode(numbers), tick.summary);
    tick.older.reset();
    ExpectEqual(type, tick.Decode(numbers), tick.summary);
  }
}

TEST(ThinnedQuery, EncodesTheTimeThere) {
  SummaryNumbers numbers = {};
  EncodeThere({.all = 6, .sound = 4}, 10, &numbers);
  const TimeThere there = DecodeThere(numbers, 10);
  EXPECT_EQ(there.all, 6);
  EXPECT_EQ(there.sound, 4);
}

TEST(ThinnedQuery, KeepsALongerInterval) {
  const CollectedQuery query = {.interval = absl::Minutes(5)};
  EXPECT_EQ(ThinnedQuery(query, absl::Minutes(1)).interval, absl::Minutes(5));
  EXPECT_EQ(ThinnedQuery(query, absl::Hours(1)).interval, absl::Hours(1));
}

}  // namespace
}  // namespace fleetperf::aggregator
