// The growth of counters between two samples, and the status if there is none.

#include <algorithm>
#include <vector>

#include "tests/support/exact.h"
#include "tests/support/raw_samples.h"
#include "tests/support/status_matchers.h"
#include "values/formula.h"

namespace fleetperf {
namespace {

using testing::FormulaOfType;
using testing::kAverageBulk;
using testing::kTimer100Ns;
using testing::U32;
using testing::U64;

constexpr uint32_t kDelta = 0x00400400;
constexpr uint32_t kRate = 0x10410400;
constexpr uint32_t kTimer = 0x20410500;
constexpr uint32_t kObjectTimer = 0x20610500;
constexpr uint32_t kMultiTimer = 0x22410500;
constexpr uint32_t kMultiInverse = 0x23510500;

RawSample Sample(RawValue value, RawValue denominator = {}) {
  return {.clocks = {.perf_time_stamp = 100,
                     .perf_time_100nsec = 100,
                     .perf_freq = 10},
          .value = value,
          .denominator = denominator,
          .multi = U32(1)};
}

RawSample Later(RawValue value, RawValue denominator = {}) {
  RawSample sample = Sample(value, denominator);
  sample.clocks.perf_time_stamp += 10;
  sample.clocks.perf_time_100nsec += 10;
  return sample;
}

TEST(GrowthBetween, FallingCounterIsNegative) {
  const struct {
    const char* name;
    RawValue older, newer;
  } kCases[] = {
      {"by one", U64(5), U64(4)},
      {"to 0", U64(UINT64_MAX), U64(0)},
      // Strict: a 4-byte counter may have been reset instead of wrapping.
      {"over the end of 4 bytes", U32(0xFFFF'FFFF), U32(0)},
  };
  for (const auto& test : kCases) {
    SCOPED_TRACE(test.name);
    for (const uint32_t type : {kDelta, kRate, kAverageBulk}) {
      EXPECT_EQ(GrowthBetween(FormulaOfType(type), Sample(test.older, U32(1)),
                              Later(test.newer, U32(2)))
                    .status,
                ValueStatus::kNegativeValue);
    }
  }
}

TEST(GrowthBetween, BaseWrapsAt4BytesButNotAt8) {
  constexpr uint64_t kFell = UINT64_MAX;  // negative growth
  const struct {
    const char* name;
    RawValue older, newer;
    uint64_t grown;
  } kCases[] = {
      {"no wrap", U32(5), U32(7), 2},
      // Modulo 2^32, not 2^32 - 1.
      {"from the last value to 0", U32(0xFFFF'FFFF), U32(0), 1},
      {"by 625,000 over the end", U32(0xFFFF'FFFF), U32(624'999), 625'000},
      {"by 2^31 - 1", U32(0x8000'0001), U32(0), 0x7FFF'FFFF},
      {"by 2^31, as well a reset", U32(0x8000'0000), U32(0), kFell},
      {"a reset", U32(1000), U32(10), kFell},
      {"upwards by more than 2^31", U32(0), U32(0xFFFF'FFFF), 0xFFFF'FFFF},
      {"8 bytes", U64(0xFFFF'FFFF), U64(0), kFell},
      {"8 bytes over the end", U64(UINT64_MAX), U64(0), kFell},
      {"4 bytes, then 8", U32(0xFFFF'FFFF), U64(0), kFell},
      {"8 bytes, then 4", U64(0xFFFF'FFFF), U32(0), kFell},
  };
  for (const auto& test : kCases) {
    SCOPED_TRACE(test.name);
    for (const uint32_t type : {kAverageBulk, kObjectTimer}) {
      const GrowthOrStatus result =
          GrowthBetween(FormulaOfType(type), Sample(U64(3), test.older),
                        Later(U64(4), test.newer));
      if (test.grown == kFell) {
        EXPECT_EQ(result.status, ValueStatus::kNegativeDenominator);
      } else {
        EXPECT_EQ(result.status, ValueStatus::kOk);
        EXPECT_EQ(result.growth.denominator, test.grown);
        EXPECT_EQ(result.growth.value, 1);
      }
    }
  }
}

TEST(GrowthBetween, ValueWrapsAt4BytesOnlyIfDeclared) {
  RawSample older = Sample(U32(0xFFFF'FFFE));
  RawSample newer = Later(U32(3));
  const CounterFormula formula = FormulaOfType(kRate);
  EXPECT_EQ(GrowthBetween(formula, older, newer).status,
            ValueStatus::kNegativeValue);
  older.value.wraps = newer.value.wraps = true;
  EXPECT_EQ(GrowthBetween(formula, older, newer).growth.value, 5);
  // A decrease by half of the range may be a reset. 8-byte values never wrap.
  older.value.value = 0x8000'0003;
  EXPECT_EQ(GrowthBetween(formula, older, newer).status,
            ValueStatus::kNegativeValue);
  older.value = {.value = 0xFFFF'FFFE, .size = 8, .wraps = true};
  newer.value = {.value = 3, .size = 8, .wraps = true};
  EXPECT_EQ(GrowthBetween(formula, older, newer).status,
            ValueStatus::kNegativeValue);
}

TEST(GrowthBetween, FallingClockIsANegativeDenominator) {
  const RawSample older = Sample(U64(1));
  RawSample newer = Later(U64(2));
  newer.clocks.perf_time_stamp = older.clocks.perf_time_stamp - 1;
  EXPECT_EQ(GrowthBetween(FormulaOfType(kTimer), older, newer).status,
            ValueStatus::kNegativeDenominator);
  EXPECT_EQ(GrowthBetween(FormulaOfType(kTimer100Ns), older, newer).status,
            ValueStatus::kOk);
  newer = Later(U64(2));
  newer.clocks.perf_time_100nsec = older.clocks.perf_time_100nsec - 1;
  EXPECT_EQ(GrowthBetween(FormulaOfType(kTimer), older, newer).status,
            ValueStatus::kOk);
  EXPECT_EQ(GrowthBetween(FormulaOfType(kTimer100Ns), older, newer).status,
            ValueStatus::kNegativeDenominator);
}

// Otherwise, a negative growth over a negative time would look like a rate.
TEST(GrowthBetween, SwappedSamplesAreNegative) {
  for (const uint32_t type : {kRate, kTimer100Ns, kAverageBulk}) {
    EXPECT_EQ(GrowthBetween(FormulaOfType(type), Later(U64(9), U64(9)),
                            Sample(U64(5), U64(5)))
                  .status,
              ValueStatus::kNegativeValue);
  }
}

TEST(GrowthBetween, NeedsTheFrequencyOnlyIfTheFormulaUsesIt) {
  const RawSample older = Sample(U64(1), U64(1));
  RawSample newer = Later(U64(2), U64(2));
  for (const int64_t freq : {int64_t{0}, int64_t{-10}}) {
    newer.clocks.perf_freq = freq;
    for (const uint32_t type : {kRate, kMultiTimer, 0x30020400u}) {
      EXPECT_EQ(GrowthBetween(FormulaOfType(type), older, newer).status,
                ValueStatus::kBadFrequency);
    }
    for (const uint32_t type : {kDelta, kTimer, kAverageBulk, kMultiInverse}) {
      EXPECT_EQ(GrowthBetween(FormulaOfType(type), older, newer).status,
                ValueStatus::kOk);
    }
  }
}

TEST(GrowthBetween, UsesFrequencyAndComponentsOfTheNewerSample) {
  RawSample older = Sample(U64(1));
  RawSample newer = Later(U64(2));
  older.clocks.perf_freq = -1;
  newer.clocks.perf_freq = 44;
  older.multi = U32(0);
  newer.multi = U32(3);
  const GrowthOrStatus result =
      GrowthBetween(FormulaOfType(kMultiTimer), older, newer);
  EXPECT_EQ(result.status, ValueStatus::kOk);
  EXPECT_EQ(result.growth.perf_freq, 44);
  EXPECT_EQ(result.growth.multi, 3);
}

TEST(GrowthBetween, ReportsMissingLinkedValue) {
  const struct {
    uint32_t type;
    ValueStatus status;
  } kCases[] = {{kAverageBulk, ValueStatus::kZeroDenominator},
                {kObjectTimer, ValueStatus::kZeroDenominator},
                {kMultiTimer, ValueStatus::kZeroMulti},
                {kMultiInverse, ValueStatus::kZeroMulti}};
  for (const auto& test : kCases) {
    RawSample older = Sample(U64(1), U64(1));
    RawSample newer = Later(U64(2));
    newer.multi = {};
    EXPECT_EQ(GrowthBetween(FormulaOfType(test.type), older, newer).status,
              test.status);
    older.denominator = {};
    newer = Later(U64(2), U64(2));
    newer.multi = {};
    EXPECT_EQ(GrowthBetween(FormulaOfType(test.type), older, newer).status,
              test.status);
  }
}

TEST(CalculateGrowth, NeverDividesByZero) {
  const struct {
    uint32_t type;
    Growth growth;
    ValueStatus status;
  } kCases[] = {
      {kRate, {.value = 5, .perf_freq = 1}, ValueStatus::kZeroDenominator},
      {kRate, {.perf_freq = 1}, ValueStatus::kZeroDenominator},
      {kAverageBulk, {.value = 5}, ValueStatus::kZeroDenominator},
      {kRate, {.value = 5, .denominator = 1}, ValueStatus::kBadFrequency},
      {kMultiTimer,
       {.value = 5, .denominator = 1, .perf_freq = 1},
       ValueStatus::kZeroMulti},
      {0x22510500, {.value = 5, .denominator = 1}, ValueStatus::kZeroMulti},
      {kDelta, {.value = 5}, ValueStatus::kOk},
  };
  for (const auto& test : kCases) {
    EXPECT_EQ(CalculateGrowth(FormulaOfType(test.type), test.growth).status,
              test.status);
  }
}

TEST(AddGrowth, DoesNotDependOnTheOrderOfFrequencies) {
  const CounterFormula formula = FormulaOfType(kTimer);
  std::vector<Growth> pieces = {
      {.value = 1, .denominator = 10, .perf_freq = 10'000'000},
      {.value = 2, .denominator = 7, .perf_freq = 3'579'545},
      {.value = 3, .denominator = 11, .perf_freq = 15'000'000}};
  // In ticks of the least common multiple, 2,147,727 * 10^7 Hz.
  Growth expected;
  for (const Growth& piece : pieces) AddGrowth(formula, piece, &expected);
  EXPECT_EQ(expected.perf_freq, 21'477'270'000'000);
  const CalculatedValue value = CalculateGrowth(formula, expected);
  const auto ticks = [&](const Growth& piece) {
    return expected.perf_freq / piece.perf_freq;
  };
  absl::uint128 n = 0, d = 0;
  for (const Growth& piece : pieces) {
    n += piece.value * ticks(piece);
    d += piece.denominator * ticks(piece);
  }
  EXPECT_EQ(value.value, testing::Quotient(100 * n, d));
  for (int i = 0; i < 6; ++i) {
    std::next_permutation(pieces.begin(), pieces.end(),
                          [](const Growth& a, const Growth& b) {
                            return a.perf_freq < b.perf_freq;
                          });
    Growth sum, rest;
    AddGrowth(formula, pieces[0], &sum);
    AddGrowth(formula, pieces[1], &rest);
    AddGrowth(formula, pieces[2], &rest);
    AddGrowth(formula, rest, &sum);
    EXPECT_EQ(CalculateGrowth(formula, sum), value);
  }
}

TEST(AddGrowth, TruncatesTicksOfFrequenciesWithoutACommonMultiple) {
  const CounterFormula formula = FormulaOfType(kTimer);
  constexpr uint64_t kPrime = 4'294'967'291;
  Growth sum = {.value = 5, .denominator = 10, .perf_freq = kPrime};
  AddGrowth(formula, {.value = 1, .denominator = 2, .perf_freq = kPrime - 2},
            &sum);
  EXPECT_EQ(sum.perf_freq, kPrime - 2);
  EXPECT_EQ(sum.value, 4 + 1);  // 4.99... ticks
  EXPECT_EQ(sum.denominator, 9 + 2);
}

}  // namespace
}  // namespace fleetperf
