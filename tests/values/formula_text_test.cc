#include "values/formula_text.h"

#include <gtest/gtest.h>

#include "tests/support/raw_samples.h"

namespace fleetperf {
namespace {

using testing::FormulaOfType;
using testing::U64;

RawSample Sample(uint64_t n, uint64_t stamp, uint64_t time_100ns, uint64_t base,
                 uint64_t multi) {
  return {.clocks = {.perf_time_stamp = static_cast<int64_t>(stamp),
                     .perf_time_100nsec = static_cast<int64_t>(time_100ns),
                     .perf_freq = 77},
          .value = U64(n),
          .denominator = U64(base),
          .frequency = U64(88),
          .multi = U64(multi)};
}

TEST(FormulaText, SubstitutesSampleNumbers) {
  const RawSample older = Sample(1, 10, 100, 1000, 3);
  const RawSample newer = Sample(6, 30, 170, 1009, 4);
  const struct {
    uint32_t type;
    const char* formula;
    const char* arithmetic;
  } kCases[] = {
      {0x00010000, "N1", "6"},
      {0x00400400, "dN", "(6 - 1)"},
      {0x10410400, "dN * F / dD", "(6 - 1) * 77 / (30 - 10)"},
      {0x00450400, "dN / dD", "(6 - 1) / (30 - 10)"},
      {0x00550500, "dN / dD", "(6 - 1) / (170 - 100)"},
      {0x20410500, "100 * dN / dD", "100 * (6 - 1) / (30 - 10)"},
      {0x20570500, "100 * dN / dD", "100 * (6 - 1) / (1009 - 1000)"},
      {0x21510500, "100 * (1 - dN / dD)", "100 * (1 - (6 - 1) / (170 - 100))"},
      {0x22410500, "100 * dN * F / (dD * M1)",
       "100 * (6 - 1) * 77 / ((30 - 10) * 4)"},
      {0x22510500, "100 * dN / (dD * M1)", "100 * (6 - 1) / ((170 - 100) * 4)"},
      {0x23410500, "100 * (M1 - dN / dD)", "100 * (4 - (6 - 1) / (30 - 10))"},
      {0x20020400, "100 * N1 / D1", "100 * 6 / 1009"},
      {0x20C20400, "100 * dN / dD", "100 * (6 - 1) / (1009 - 1000)"},
      {0x30020400, "dN / F / dD", "(6 - 1) / 77 / (1009 - 1000)"},
      {0x40020500, "dN / dD", "(6 - 1) / (1009 - 1000)"},
      {0x30240500, "(D1 - N1) / F", "(1009 - 6) / 88"},
      {0x40030500, "", ""},
  };
  for (const auto& test : kCases) {
    const CounterFormula formula = FormulaOfType(test.type);
    EXPECT_EQ(FormulaText(formula), test.formula);
    EXPECT_EQ(ArithmeticText(formula, older, newer), test.arithmetic);
  }
}

TEST(FormulaText, IncludesTheScale) {
  CounterFormula formula = FormulaOfType(0x00010000);
  formula.scale = -2;
  EXPECT_EQ(FormulaText(formula), "(N1) * 10^-2");
  EXPECT_EQ(ArithmeticText(formula, {}, Sample(29, 0, 0, 0, 0)),
            "(29) * 10^-2");
}

TEST(DenominatorText, NamesTheDenominator) {
  EXPECT_EQ(DenominatorText(FormulaOfType(0x00010000)), "");
  EXPECT_EQ(DenominatorText(FormulaOfType(0x20410500)), "PerfTimeStamp");
  EXPECT_EQ(DenominatorText(FormulaOfType(0x20510500)), "PerfTime100NSec");
  EXPECT_EQ(DenominatorText(FormulaOfType(0x40020500)), "counter 2");
  EXPECT_EQ(DenominatorText(FormulaOfType(0x30240500)), "counter 3");
  CounterFormula unlinked = FormulaOfType(0x40020500);
  unlinked.denominator_id.reset();
  EXPECT_EQ(DenominatorText(unlinked),
            "a counter that is not in the registration");
}

}  // namespace
}  // namespace fleetperf
