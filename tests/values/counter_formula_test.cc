#include "values/counter_formula.h"

#include "tests/support/status_matchers.h"

namespace fleetperf {
namespace {

using perflib::CounterRegistration;
using perflib::kNoCounter;

// The formula of `counter` in a counterset that has ids 1 to 9.
CounterFormula FormulaAmongNine(const CounterRegistration& counter) {
  perflib::CountersetRegistration registration;
  for (uint32_t id = 1; id <= 9; ++id) {
    registration.counters.push_back({.counter_id = id});
  }
  return FormulaOf(registration, counter);
}

constexpr std::optional<uint32_t> kNone;

TEST(FormulaOf, LinksOnlyTheCountersEachTypeNeeds) {
  const struct {
    const char* name;
    uint32_t type;
    std::optional<uint32_t> denominator, frequency, multi;
  } kCases[] = {
      // All registrations have base 6, time 7, frequency 8, multi 9.
      {"RAWCOUNT", 0x00010000, kNone, kNone, kNone},
      {"COUNTER_COUNTER", 0x10410400, kNone, kNone, kNone},
      {"100NSEC_TIMER", 0x20510500, kNone, kNone, kNone},
      {"RAW_FRACTION", 0x20020400, 6, kNone, kNone},
      {"LARGE_RAW_FRACTION", 0x20020500, 6, kNone, kNone},
      {"SAMPLE_FRACTION", 0x20C20400, 6, kNone, kNone},
      {"AVERAGE_TIMER", 0x30020400, 6, kNone, kNone},
      {"AVERAGE_BULK", 0x40020500, 6, kNone, kNone},
      {"PRECISION_SYSTEM_TIMER", 0x20470500, 6, kNone, kNone},
      {"PRECISION_100NS_TIMER", 0x20570500, 6, kNone, kNone},
      {"OBJ_TIME_QUEUELEN", 0x00650500, 7, kNone, kNone},
      // Object time counts its own ticks, so the frequency is not used.
      {"OBJ_TIME_TIMER", 0x20610500, 7, kNone, kNone},
      {"PRECISION_OBJECT_TIMER", 0x20670500, 7, kNone, kNone},
      {"ELAPSED_TIME", 0x30240500, 7, 8, kNone},
      {"MULTI_TIMER", 0x22410500, kNone, kNone, 9},
      {"100NSEC_MULTI_TIMER", 0x22510500, kNone, kNone, 9},
      {"MULTI_TIMER_INV", 0x23410500, kNone, kNone, 9},
      {"100NSEC_MULTI_TIMER_INV", 0x23510500, kNone, kNone, 9},
  };
  for (const auto& test : kCases) {
    SCOPED_TRACE(test.name);
    const CounterFormula formula = FormulaAmongNine({.counter_id = 1,
                                                     .type = test.type,
                                                     .base_counter_id = 6,
                                                     .perf_time_id = 7,
                                                     .perf_freq_id = 8,
                                                     .multi_id = 9});
    EXPECT_TRUE(formula.known_type);
    EXPECT_EQ(formula.counter_id, 1);
    EXPECT_EQ(formula.type, test.type);
    EXPECT_EQ(formula.denominator_id, test.denominator);
    EXPECT_EQ(formula.frequency_id, test.frequency);
    EXPECT_EQ(formula.multi_id, test.multi);
  }
}

TEST(FormulaOf, LinksOnlyRegisteredCounters) {
  for (const uint32_t missing : {kNoCounter, 77u}) {
    for (const uint32_t type :
         {0x40020500u, 0x20610500u, 0x20670500u, 0x30240500u, 0x22410500u}) {
      const CounterFormula formula =
          FormulaAmongNine({.counter_id = 1,
                            .type = type,
                            .base_counter_id = missing,
                            .perf_time_id = missing,
                            .perf_freq_id = missing,
                            .multi_id = missing});
      EXPECT_EQ(formula.denominator_id, kNone);
      EXPECT_EQ(formula.frequency_id, kNone);
      EXPECT_EQ(formula.multi_id, kNone);
    }
  }
}

// Before V2, this type named a base. All others had the clock in the object's
// header.
TEST(FormulaOf, OnlyAPrecisionObjectTimerFallsBackToItsBase) {
  for (const uint32_t no_time : {kNoCounter, 77u}) {
    CounterRegistration counter{
        .counter_id = 1, .base_counter_id = 6, .perf_time_id = no_time};
    counter.type = 0x20670500;
    EXPECT_EQ(FormulaAmongNine(counter).denominator_id, 6);
    counter.type = 0x20610500;
    EXPECT_EQ(FormulaAmongNine(counter).denominator_id, kNone);
    counter.type = 0x30240500;
    EXPECT_EQ(FormulaAmongNine(counter).denominator_id, kNone);
  }
}

// WMI's lists print 0x40030503 for PERF_LARGE_RAW_BASE, winperf.h 0x40030500.
TEST(FormulaOf, AcceptsBothValuesOfTheLargeRawBase) {
  for (const uint32_t base_type : {0x40030500u, 0x40030503u}) {
    perflib::CountersetRegistration registration;
    registration.counters = {
        {.counter_id = 1, .type = 0x20020500, .base_counter_id = 2},
        {.counter_id = 2, .type = base_type}};
    EXPECT_EQ(FormulaOf(registration, registration.counters[0]).denominator_id,
              2);
    const CounterFormula base =
        FormulaOf(registration, registration.counters[1]);
    EXPECT_TRUE(base.known_type);
    EXPECT_EQ(base.formula, perflib::Formula::kNotDisplayable);
  }
}

TEST(FormulaOf, ReportsUnknownType) {
  EXPECT_FALSE(FormulaAmongNine({.type = 0x00012000}).known_type);
}

// The default scale is for graphs. Only counters displayed as real apply it.
TEST(FormulaOf, ScalesOnlyCountersDisplayedAsReal) {
  constexpr uint64_t kDisplayAsReal = 8;
  CounterRegistration counter{.type = 0x00010000, .default_scale = -1};
  EXPECT_EQ(FormulaAmongNine(counter).scale, 0);
  counter.attrib = kDisplayAsReal;
  EXPECT_EQ(FormulaAmongNine(counter).scale, -1);
  // PERF_COUNTER_REG_INFO allows -10 to 10. Other scales have no effect.
  for (const auto& [default_scale, scale] :
       std::vector<std::pair<int, int>>{{10, 10},
                                        {-10, -10},
                                        {11, 0},
                                        {-11, 0},
                                        {5000, 0},
                                        {INT32_MIN, 0}}) {
    counter.default_scale = default_scale;
    EXPECT_EQ(FormulaAmongNine(counter).scale, scale) << default_scale;
  }
}

}  // namespace
}  // namespace fleetperf
