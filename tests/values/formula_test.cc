// Golden values of every counter type, computed in exact arithmetic.

#include "values/formula.h"

#include <cmath>
#include <set>

#include "perflib/counter_type.h"
#include "perflib/registration.h"
#include "tests/support/exact.h"
#include "tests/support/raw_samples.h"
#include "tests/support/status_matchers.h"

namespace fleetperf {
namespace {

using testing::FormulaOfType;
using testing::Quotient;
using testing::U32;
using testing::U64;

constexpr uint64_t kMax = UINT64_MAX;
// The frequency of an ACPI timer. It is not a power of ten, and thus
// unmistakable.
constexpr int64_t kF = 3'579'545;
constexpr uint64_t kM = 6;

TEST(Quotient, IsTheNearestDouble) {
  EXPECT_EQ(Quotient(0, 7), 0);
  EXPECT_EQ(Quotient(1, 3), 1.0 / 3.0);  // division in hardware is exact, too
  EXPECT_EQ(Quotient(22, 7), 22.0 / 7.0);
  EXPECT_EQ(Quotient((uint64_t{1} << 53) + 1, 1), 0x1p53);      // half, to even
  EXPECT_EQ(Quotient((uint64_t{1} << 53) + 3, 1), 0x1p53 + 4);  // half, to even
  EXPECT_EQ(Quotient(kMax, 1), 0x1p64);
  EXPECT_EQ(Quotient(absl::uint128(kMax) * kMax, kMax), 0x1p64);
  EXPECT_EQ(Quotient(1, absl::uint128(1) << 100), 0x1p-100);
}

// The two-sample formulas. Only the denominator of the type grows by `d`. All
// other clocks and counters grow by other amounts.
enum class Against { kNothing, kTimeStamp, k100Ns, kBase, kObjectTime };

CalculatedValue Calculate(uint32_t type, Against against, uint64_t n,
                          uint64_t d, int64_t freq = kF, uint64_t multi = kM) {
  constexpr uint64_t kOther = 123'457;
  const auto grown = [&](Against clock) {
    return against == clock ? d : kOther;
  };
  // High enough that a double cannot hold the values, if possible.
  const auto begin = [](uint64_t growth) {
    return std::min(kMax - growth, (uint64_t{1} << 62) + 1);
  };
  const auto counter = [&](Against clock) {
    const uint64_t growth = grown(clock);
    return std::pair(U64(begin(growth)), U64(begin(growth) + growth));
  };
  const auto [base_0, base_1] = counter(
      against == Against::kObjectTime ? Against::kObjectTime : Against::kBase);
  RawSample older{.clocks = {.perf_time_stamp = INT64_MIN,
                             .perf_time_100nsec = INT64_MIN,
                             .perf_freq = 1},
                  .value = U64(begin(n)),
                  .denominator = base_0,
                  .multi = U64(99)};
  RawSample newer{
      .clocks = {.perf_time_stamp =
                     static_cast<int64_t>(static_cast<uint64_t>(INT64_MIN) +
                                          grown(Against::kTimeStamp)),
                 .perf_time_100nsec = static_cast<int64_t>(
                     static_cast<uint64_t>(INT64_MIN) + grown(Against::k100Ns)),
                 .perf_freq = freq},
      .value = U64(begin(n) + n),
      .denominator = base_1,
      .multi = U64(multi)};
  const CounterFormula formula = FormulaOfType(type);
  const GrowthOrStatus growth = GrowthBetween(formula, older, newer);
  if (growth.status != ValueStatus::kOk) {
    return CalculatedValue::Of(growth.status);
  }
  return CalculateGrowth(formula, growth.growth);
}

struct Row {
  uint32_t type;
  Against against;
  double expected;
};

constexpr uint64_t kN = 2'718'281;
constexpr uint64_t kD = 5'369'317;  // 1.5 s of kF

// The formulas of Microsoft's "Calculating Counter Values", in exact rationals.
const Row kTwoSamples[] = {
    {0x00400400, Against::kNothing, kN},                        // DELTA
    {0x00400500, Against::kNothing, kN},                        // LARGE_DELTA
    {0x00410400, Against::kTimeStamp, Quotient(kN* kF, kD)},    // SAMPLE
    {0x10410400, Against::kTimeStamp, Quotient(kN* kF, kD)},    // COUNTER
    {0x10410500, Against::kTimeStamp, Quotient(kN* kF, kD)},    // BULK_COUNT
    {0x00450400, Against::kTimeStamp, Quotient(kN, kD)},        // QUEUELEN
    {0x00450500, Against::kTimeStamp, Quotient(kN, kD)},        // LARGE_QUEUE..
    {0x00550500, Against::k100Ns, Quotient(kN, kD)},            // 100NS_QUEUE..
    {0x00650500, Against::kObjectTime, Quotient(kN, kD)},       // OBJ_TIME_Q..
    {0x20410500, Against::kTimeStamp, Quotient(100 * kN, kD)},  // TIMER
    {0x20510500, Against::k100Ns, Quotient(100 * kN, kD)},      // 100NSEC_TIMER
    {0x20610500, Against::kObjectTime, Quotient(100 * kN, kD)},  // OBJ_TIME_T..
    {0x20670500, Against::kObjectTime, Quotient(100 * kN, kD)},  // PREC_OBJECT
    {0x20470500, Against::kBase, Quotient(100 * kN, kD)},        // PREC_SYSTEM
    {0x20570500, Against::kBase, Quotient(100 * kN, kD)},        // PREC_100NS
    {0x20C20400, Against::kBase, Quotient(100 * kN, kD)},  // SAMPLE_FRACTION
    // TIMER_INV, 100NSEC_TIMER_INV
    {0x21410500, Against::kTimeStamp, Quotient(100 * (kD - kN), kD)},
    {0x21510500, Against::k100Ns, Quotient(100 * (kD - kN), kD)},
    // MULTI_TIMER, 100NSEC_MULTI_TIMER, and their inverses
    {0x22410500, Against::kTimeStamp,
     Quotient(absl::uint128(100) * kN * kF, kD* kM)},
    {0x22510500, Against::k100Ns, Quotient(100 * kN, kD* kM)},
    {0x23410500, Against::kTimeStamp, Quotient(100 * (kM * kD - kN), kD)},
    {0x23510500, Against::k100Ns, Quotient(100 * (kM * kD - kN), kD)},
    {0x30020400, Against::kBase, Quotient(kN, kF* kD)},  // AVERAGE_TIMER
    {0x40020500, Against::kBase, Quotient(kN, kD)},      // AVERAGE_BULK
};

TEST(Formula, TwoSampleFormulasAreExact) {
  for (const Row& row : kTwoSamples) {
    SCOPED_TRACE(perflib::CounterTypeName(row.type));
    EXPECT_EQ(Calculate(row.type, row.against, kN, kD),
              CalculatedValue::Of(row.expected));
  }
}

TEST(Formula, TwoSampleTestsCoverEveryType) {
  std::set<uint32_t> rows;
  for (const Row& row : kTwoSamples) rows.insert(row.type);
  for (const perflib::CounterTypeInfo& info : perflib::AllCounterTypes()) {
    EXPECT_EQ(rows.contains(info.type), perflib::UsesTwoSamples(info.formula))
        << info.name;
  }
}

TEST(Formula, IsExactAtIntegerLimits) {
  constexpr uint32_t kDelta = 0x00400500;
  constexpr uint32_t kRate = 0x10410500;
  constexpr uint32_t kTimer = 0x20410500;
  constexpr uint32_t kInverse = 0x21510500;
  constexpr uint32_t kMultiTimer = 0x22410500;
  constexpr uint32_t kAverageBulk = 0x40020500;
  constexpr uint64_t k2To53 = uint64_t{1} << 53;
  constexpr uint64_t k2To63 = uint64_t{1} << 63;
  // 100 * N does not fit into 64 bits from this value on.
  constexpr uint64_t kPerCent = kMax / 100 + 1;
  const struct {
    const char* name;
    uint32_t type;
    Against against;
    uint64_t n, d;
    double expected;
  } kCases[] = {
      {"2^53+1", kDelta, Against::kNothing, k2To53 + 1, 1, 0x1p53},
      {"2^63", kDelta, Against::kNothing, k2To63, 1, 0x1p63},
      {"2^64-1", kDelta, Against::kNothing, kMax, 1, 0x1p64},
      {"nothing", kDelta, Against::kNothing, 0, 1, 0},
      {"once in 3 s", kRate, Against::kTimeStamp, 1, 3 * kF, Quotient(1, 3)},
      {"a quarter of a second", kRate, Against::kTimeStamp, 5, kD / 6,
       Quotient(5 * kF, kD / 6)},
      {"more than 2^32 a second", kRate, Against::kTimeStamp, uint64_t{1} << 40,
       kF, 0x1p40},
      {"2^64-1 in one tick", kRate, Against::kTimeStamp, kMax, 1,
       Quotient(absl::uint128(kMax) * kF, 1)},
      {"100*N beyond 2^64", kTimer, Against::kTimeStamp, kPerCent, 2 * kPerCent,
       50},
      {"the longest time", kTimer, Against::kTimeStamp, k2To63, kMax,
       Quotient(absl::uint128(100) * k2To63, kMax)},
      {"more than all the time", kTimer, Against::kTimeStamp, 3, 2, 150},
      {"idle for longer than time passed", kInverse, Against::k100Ns, 11, 10,
       -10},
      {"idle all the time", kInverse, Against::k100Ns, kMax, kMax, 0},
      {"100*N*F beyond 2^64", kMultiTimer, Against::kTimeStamp, k2To63,
       k2To63 / 2, Quotient(200 * kF, kM)},
      {"2^64-1 over 2^64-1", kAverageBulk, Against::kBase, kMax, kMax, 1},
      {"2^53+1 over 3", kAverageBulk, Against::kBase, k2To53 + 1, 3,
       Quotient(k2To53 + 1, 3)},
  };
  for (const auto& test : kCases) {
    SCOPED_TRACE(test.name);
    EXPECT_EQ(Calculate(test.type, test.against, test.n, test.d),
              CalculatedValue::Of(test.expected));
  }
}

// Dividing dD by F in integers would give 0 below a second, and 1 below two.
TEST(Formula, MultiTimerDividesByTheExactInterval) {
  constexpr uint32_t kMultiTimer = 0x22410500;
  EXPECT_EQ(Calculate(kMultiTimer, Against::kTimeStamp, 100, kF / 2, kF, 1),
            CalculatedValue::Of(Quotient(100 * 100 * kF, kF / 2)));
  EXPECT_EQ(Calculate(kMultiTimer, Against::kTimeStamp, 100, kD, kF, 1),
            CalculatedValue::Of(Quotient(100 * 100 * kF, kD)));
}

TEST(Formula, InverseMultiTimerIsNotDividedByComponents) {
  EXPECT_EQ(Calculate(0x23410500, Against::kTimeStamp, 15, 10, kF, 4),
            CalculatedValue::Of(250));
  EXPECT_EQ(Calculate(0x23510500, Against::k100Ns, 15, 10, kF, 1),
            CalculatedValue::Of(-50));
}

struct OneSample {
  uint32_t type;
  uint64_t value, denominator, frequency;
  CalculatedValue expected;
};

CalculatedValue Calculate(const OneSample& test) {
  return CalculateSample(FormulaOfType(test.type),
                         {.clocks = {.perf_freq = kF},
                          .value = U64(test.value),
                          .denominator = U64(test.denominator),
                          .frequency = U64(test.frequency)});
}

TEST(Formula, OneSampleFormulasAreExact) {
  constexpr uint64_t kPerCent = kMax / 100 + 1;
  const auto ok = [](double value) { return CalculatedValue::Of(value); };
  const OneSample kCases[] = {
      {0x00000000, 7, 0, 0, ok(7)},          // RAWCOUNT_HEX
      {0x00000100, kMax, 0, 0, ok(0x1p64)},  // LARGE_RAWCOUNT_HEX
      {0x00010000, 0, 0, 0, ok(0)},          // RAWCOUNT
      {0x00010100, (uint64_t{1} << 53) + 1, 0, 0, ok(0x1p53)},  // LARGE_RAW..
      {0x20020400, 1, 3, 0, ok(Quotient(100, 3))},              // RAW_FRACTION
      {0x20020500, 5, 4, 0, ok(125)},                     // LARGE_RAW_FRACTION
      {0x20020500, kPerCent, 2 * kPerCent, 0, ok(50)},    // beyond 2^64
      {0x30240500, 100, 350, 1000, ok(0.25)},             // ELAPSED_TIME
      {0x30240500, 0, kMax, kF, ok(Quotient(kMax, kF))},  // long ago
      {0x30240500, 5, 5, kF, ok(0)},                      // just now
      {0x30240500, 0, kMax, kMax, ok(1)},
  };
  for (const OneSample& test : kCases) {
    EXPECT_EQ(Calculate(test), test.expected)
        << perflib::CounterTypeName(test.type) << " " << test.value;
  }
}

TEST(Formula, OneSampleFormulasReportErrors) {
  constexpr uint32_t kRawFraction = 0x20020400;
  constexpr uint32_t kElapsedTime = 0x30240500;
  const auto of = [](ValueStatus status) {
    return CalculatedValue::Of(status);
  };
  const OneSample kCases[] = {
      {kRawFraction, 1, 0, 0, of(ValueStatus::kZeroDenominator)},
      {kRawFraction, 0, 0, 0, of(ValueStatus::kZeroDenominator)},
      // The start is in the future.
      {kElapsedTime, 351, 350, kF, of(ValueStatus::kNegativeValue)},
      {kElapsedTime, 100, 350, 0, of(ValueStatus::kBadFrequency)},
      // A rate.
      {0x10410400, 1, 1, 1, of(ValueStatus::kNeedTwoSamples)},
  };
  for (const OneSample& test : kCases) {
    EXPECT_EQ(Calculate(test), test.expected)
        << perflib::CounterTypeName(test.type);
  }
}

TEST(Formula, OneSampleFormulasNeedAllInputs) {
  const CounterFormula fraction = FormulaOfType(0x20020400);
  const CounterFormula elapsed = FormulaOfType(0x30240500);
  EXPECT_EQ(CalculateSample(fraction, {}),
            CalculatedValue::Gap(GapCause::kNoValue));
  EXPECT_EQ(CalculateSample(fraction, {.value = U32(1)}).status,
            ValueStatus::kZeroDenominator);
  EXPECT_EQ(
      CalculateSample(elapsed, {.value = U64(1), .frequency = U64(1)}).status,
      ValueStatus::kZeroDenominator);
  EXPECT_EQ(
      CalculateSample(elapsed, {.value = U64(1), .denominator = U64(2)}).status,
      ValueStatus::kBadFrequency);
}

TEST(Formula, AuxiliaryTypesAreNotDisplayed) {
  for (const perflib::CounterTypeInfo& info : perflib::AllCounterTypes()) {
    if (info.formula != perflib::Formula::kNotDisplayable) continue;
    const CounterFormula formula = FormulaOfType(info.type);
    EXPECT_EQ(CalculateSample(formula, {.value = U64(1)}).status,
              ValueStatus::kNotDisplayable)
        << info.name;
    EXPECT_EQ(CalculateGrowth(formula, {.value = 1, .denominator = 1}).status,
              ValueStatus::kNotDisplayable)
        << info.name;
  }
}

TEST(Formula, UnknownTypesAreNotGuessed) {
  constexpr uint32_t kDoubleRaw = 0x00012000;  // in WMI's lists only
  for (const uint32_t type : {kDoubleRaw, 0x12345678u}) {
    const CounterFormula formula = FormulaOfType(type);
    EXPECT_EQ(CalculateSample(formula, {.value = U64(1)}).status,
              ValueStatus::kUnknownType);
    EXPECT_EQ(CalculateGrowth(formula, {.value = 1, .denominator = 1}).status,
              ValueStatus::kUnknownType);
  }
}

// Displayed value = value * 10^scale, with the scale of the registration.
TEST(Formula, ScalesByPowersOfTen) {
  CounterFormula raw = FormulaOfType(0x00010000);
  const RawSample sample{.value = U32(2732)};
  const struct {
    int32_t scale;
    double expected;
  } kCases[] = {{0, 2732},
                {2, 273'200},
                {-1, Quotient(2732, 10)},
                {-10, Quotient(2732, 10'000'000'000)},
                {10, 27'320'000'000'000}};
  for (const auto& test : kCases) {
    raw.scale = test.scale;
    EXPECT_EQ(CalculateSample(raw, sample), CalculatedValue::Of(test.expected))
        << test.scale;
  }
  CounterFormula rate = FormulaOfType(0x10410500);
  rate.scale = -3;
  EXPECT_EQ(
      CalculateGrowth(rate, {.value = 5, .denominator = 4, .perf_freq = 2}),
      CalculatedValue::Of(0.0025));
}

TEST(Formula, IsFiniteWithTheLargestNumbersAndScale) {
  CounterFormula rate = FormulaOfType(0x22410500);  // MULTI_TIMER
  const Growth largest = {
      .value = kMax, .denominator = 1, .perf_freq = kMax, .multi = 1};
  const Growth smallest = {
      .value = 1, .denominator = kMax, .perf_freq = 1, .multi = kMax};
  rate.scale = perflib::kMaxScale;
  EXPECT_EQ(CalculateGrowth(rate, largest).value, 1e12 * 0x1p128);
  rate.scale = -perflib::kMaxScale;
  EXPECT_EQ(CalculateGrowth(rate, smallest).value, 1e-8 * 0x1p-128);
}

TEST(CalculatedValue, OfANumberThatIsNotFiniteIsAStatus) {
  for (const double number : {HUGE_VAL, -HUGE_VAL, std::nan("")}) {
    EXPECT_EQ(CalculatedValue::Of(number).status, ValueStatus::kNotFinite);
  }
  EXPECT_EQ(StatusName(ValueStatus::kNotFinite), "not_finite");
}

}  // namespace
}  // namespace fleetperf
