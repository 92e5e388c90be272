// The verdicts of fleetperf check, in the format of monitoring plugins
// (https://www.monitoring-plugins.org/doc/guidelines.html).

#include "cli/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "perflib/counter_type.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const absl::Time kEnd = absl::FromUnixSeconds(1'800'000'000);  // 08:00:00

Threshold Is(Comparison comparison, double number,
             const std::string& text = "") {
  return {.condition = {.comparison = comparison, .number = number},
          .text = text};
}

v1::Series Processor(const std::string& machine, const std::string& instance) {
  v1::Series series;
  series.set_machine(machine);
  series.set_counterset("CPU");
  series.set_instance(instance);
  series.set_path("\\CPU(" + instance + ")\\Time");
  series.set_unit("%");
  series.set_type(perflib::kPerf100NsecTimer);
  return series;
}

Value Now(double value) { return {.time = kEnd, .value = value}; }

Value Stopped(double value, absl::Duration ago) {
  return {.time = kEnd, .value = value, .newest_sample = kEnd - ago};
}

CheckResult Above80And95(bool has_wildcards = false) {
  return CheckResult({.warn = Is(Comparison::kGreater, 80, "> 80"),
                      .critical = Is(Comparison::kGreater, 95, "> 95"),
                      .stale = absl::Minutes(1),
                      .has_wildcards = has_wildcards});
}

void Put(CheckResult* result, const v1::Series& series, const Value& value) {
  ASSERT_OK(result->Add(series, value));
}

TEST(Check, ComparesAValueWithThresholds) {
  const struct {
    double value;
    CheckState state;
    const char* line;
  } kCases[] = {
      {80, CheckState::kOk,
       "FLEETPERF OK - \\\\web-1\\CPU(a)\\Time is 80.00 % | "
       "'\\\\web-1\\CPU(a)\\Time'=80%;~:80;~:95"},
      {80.5, CheckState::kWarning,
       "FLEETPERF WARNING - \\\\web-1\\CPU(a)\\Time is 80.50 %, > 80 | "
       "'\\\\web-1\\CPU(a)\\Time'=80.5%;~:80;~:95"},
      {97.25, CheckState::kCritical,
       "FLEETPERF CRITICAL - \\\\web-1\\CPU(a)\\Time is 97.25 %, > 95 | "
       "'\\\\web-1\\CPU(a)\\Time'=97.25%;~:80;~:95"},
  };
  for (const auto& test : kCases) {
    CheckResult result = Above80And95();
    Put(&result, Processor("web-1", "a"), Now(test.value));
    EXPECT_EQ(result.state(), test.state);
    EXPECT_EQ(result.Line(), test.line);
  }
}

TEST(Check, SeparatesTheMachineFromAnExpression) {
  v1::Series idle = Processor("web-1", "a");
  idle.set_path("100 - \\CPU(a)\\Time");
  CheckResult result = Above80And95();
  Put(&result, idle, Now(80));
  EXPECT_EQ(result.Line(),
            "FLEETPERF OK - \\\\web-1 100 - \\CPU(a)\\Time is 80.00 % | "
            "'\\\\web-1 100 - \\CPU(a)\\Time'=80%;~:80;~:95");
  // A group's path does not have its instance.
  v1::Series group = Processor("", "a");
  group.set_path("(\\CPU\\Time + \\CPU\\Time) / 2");
  CheckResult of_group = Above80And95();
  Put(&of_group, group, Now(80));
  EXPECT_THAT(of_group.Line(),
              HasSubstr("OK - (\\CPU\\Time + \\CPU\\Time) / 2 a is 80.00 %"));
}

TEST(Check, NamesTheWorstOfSeveralSeries) {
  CheckResult result = Above80And95();
  Put(&result, Processor("web-1", "a"), Now(1));
  Put(&result, Processor("web-2", "a"), Now(90));
  Put(&result, Processor("web-3", "a"), Now(99));
  Put(&result, Processor("web-4", "a"), Now(85));
  EXPECT_EQ(result.state(), CheckState::kCritical);
  EXPECT_THAT(result.Line(),
              HasSubstr("CRITICAL - \\\\web-3\\CPU(a)\\Time is 99.00 %, > 95; "
                        "1 critical, 2 warning, 1 ok of 4 series | '"));
}

TEST(Check, StaleDataAreUnknown) {
  CheckResult fresh = Above80And95();
  Put(&fresh, Processor("web-1", "a"), Stopped(10, absl::Seconds(60)));
  EXPECT_EQ(fresh.state(), CheckState::kOk);
  CheckResult result = Above80And95();
  Put(&result, Processor("web-1", "a"), Stopped(90, absl::Seconds(61)));
  Put(&result, Processor("web-2", "a"), Now(90));
  EXPECT_EQ(result.state(), CheckState::kUnknown);
  EXPECT_THAT(result.Line(),
              HasSubstr("FLEETPERF UNKNOWN - \\\\web-1\\CPU(a)\\Time is stale: "
                        "newest sample 07:58:59Z, 1m1s old; "
                        "1 unknown, 1 warning of 2 series"));
  // A known problem is worse than an unknown state.
  Put(&result, Processor("web-3", "a"), Now(96));
  EXPECT_EQ(result.state(), CheckState::kCritical);
}

TEST(Check, MissingDataAreUnknown) {
  CheckResult none = Above80And95();
  EXPECT_EQ(none.state(), CheckState::kUnknown);
  EXPECT_EQ(none.Line(), "FLEETPERF UNKNOWN - no samples in this time");
  CheckResult gap = Above80And95();
  Put(&gap, Processor("web-1", "a"),
      {.time = kEnd,
       .status = v1::VALUE_STATUS_GAP,
       .cause = v1::GAP_CAUSE_NO_SAMPLES});
  EXPECT_EQ(gap.state(), CheckState::kUnknown);
  EXPECT_EQ(gap.Line(),
            "FLEETPERF UNKNOWN - \\\\web-1\\CPU(a)\\Time has no value: "
            "no_samples | '\\\\web-1\\CPU(a)\\Time'=U;~:80;~:95");
}

TEST(Check, MissingPathIsUnknownUnlessAnotherIsCritical) {
  CheckResult result = Above80And95();
  Put(&result, Processor("web-1", "a"), Now(90));
  result.AddMissing("\\\\web-2\\CPU(a)\\Time: no samples");
  EXPECT_EQ(result.state(), CheckState::kUnknown);
  EXPECT_THAT(result.Line(),
              HasSubstr("UNKNOWN - \\\\web-2\\CPU(a)\\Time: no samples"));
  Put(&result, Processor("web-1", "b"), Now(96));
  result.AddMissing("no samples of web-3");
  EXPECT_EQ(result.state(), CheckState::kCritical);
  EXPECT_THAT(result.Line(),
              HasSubstr("1 critical, 1 warning of 2 series; "
                        "\\\\web-2\\CPU(a)\\Time: no samples, and 1 more "
                        "missing | "));
}

TEST(Check, ThresholdsHaveUnits) {
  Threshold above_1gib = Is(Comparison::kGreater, 1, "> 1GiB");
  above_1gib.condition.unit = "GiB";
  v1::Series memory = Processor("web-1", "");
  memory.set_unit("B");
  CheckResult result({.warn = above_1gib, .stale = absl::Minutes(1)});
  Put(&result, memory, Now(1'073'741'824.0));
  EXPECT_EQ(result.state(), CheckState::kOk);
  Put(&result, memory, Now(1'073'741'825.0));
  EXPECT_EQ(result.state(), CheckState::kWarning);
  EXPECT_THAT(result.Line(), HasSubstr(", > 1GiB; "));
  EXPECT_THAT(result.Line(), HasSubstr(";~:1073741824;"));
  EXPECT_THAT(
      result.Add(Processor("web-1", "a"), Now(1)),
      testing::StatusIs(absl::StatusCode::kInvalidArgument,
                        HasSubstr("1 GiB cannot be compared with the values of "
                                  "\\CPU(a)\\Time, which are in %")));
}

TEST(Check, PassingInstancesAreNotStaleIfThePathHasWildcards) {
  for (const bool has_wildcards : {false, true}) {
    CheckResult result = Above80And95(has_wildcards);
    Put(&result, Processor("web-1", "ended"), Stopped(99, absl::Minutes(3)));
    Put(&result, Processor("web-1", "new"),
        {.time = kEnd, .status = v1::VALUE_STATUS_NEED_TWO_SAMPLES});
    Put(&result, Processor("web-1", "a"), Now(1));
    EXPECT_EQ(result.state(),
              has_wildcards ? CheckState::kOk : CheckState::kUnknown);
    // Another machine's samples say nothing about this one.
    Put(&result, Processor("web-2", "a"), Stopped(1, absl::Minutes(3)));
    EXPECT_EQ(result.state(), CheckState::kUnknown);
  }
}

std::string PerformanceDataOf(const CheckResult& result) {
  const std::string line = result.Line();
  const size_t bar = line.find(" | ");
  return bar == line.npos ? "" : line.substr(bar + 3);
}

TEST(Check, PrintsThePerformanceDataOfTheWorstTen) {
  CheckResult result = Above80And95();
  const auto of_series = [](int number) {
    return absl::StrCat("'\\\\web-1\\CPU(", number, ")\\Time'=");
  };
  for (int i = 0; i < 10; ++i) {
    Put(&result, Processor("web-1", absl::StrCat(i)), Now(i));
  }
  EXPECT_THAT(PerformanceDataOf(result), HasSubstr(of_series(0)));
  Put(&result, Processor("web-1", "10"), Now(99));
  Put(&result, Processor("web-1", "11"),
      {.time = kEnd, .status = v1::VALUE_STATUS_GAP});
  EXPECT_THAT(result.Line(),
              HasSubstr("; 1 critical, 1 unknown, 10 ok of 12 series | '"));
  const std::string data = PerformanceDataOf(result);
  EXPECT_THAT(data, StartsWith(of_series(10)));
  EXPECT_THAT(data, HasSubstr(absl::StrCat(of_series(11), "U;")));
  EXPECT_THAT(data, HasSubstr(of_series(2)));
  EXPECT_THAT(data, Not(HasSubstr(of_series(1))));
  EXPECT_THAT(data, Not(HasSubstr(of_series(0))));
}

TEST(Check, LowValuesAreTheWorstIfTheThresholdSaysSo) {
  CheckResult result(
      {.warn = Is(Comparison::kLess, 0, "< 0"), .stale = absl::Minutes(1)});
  for (int i = 0; i < 11; ++i) {
    Put(&result, Processor("web-1", absl::StrCat(i)), Now(i));
  }
  const std::string data = PerformanceDataOf(result);
  EXPECT_THAT(data, HasSubstr("CPU(0)"));
  EXPECT_THAT(data, Not(HasSubstr("CPU(10)")));
}

// Missing values are problems, whatever is selected.
TEST(Check, SelectsSeriesAsQueriesDo) {
  const auto check = [](const CheckResult::Limits& limits) {
    CheckResult result(limits);
    for (const int value : {1, 60, 90, 70}) {
      Put(&result, Processor("web-1", absl::StrCat(value)), Now(value));
    }
    return result;
  };
  CheckResult::Limits limits{.warn = Is(Comparison::kLess, 50, "< 50"),
                             .stale = absl::Minutes(1)};
  EXPECT_EQ(check(limits).state(), CheckState::kWarning);
  limits.where = Is(Comparison::kGreater, 50, "> 50");
  EXPECT_EQ(check(limits).state(), CheckState::kOk);
  EXPECT_THAT(check(limits).Line(), HasSubstr("; 3 ok of 3 series | "));
  limits.top = 2;
  CheckResult two = check(limits);
  EXPECT_THAT(two.Line(), HasSubstr("; 2 ok of 2 series | "));
  EXPECT_THAT(PerformanceDataOf(two),
              AllOf(StartsWith("'\\\\web-1\\CPU(90)"), HasSubstr("CPU(70)")));
  Put(&two, Processor("web-1", "gap"),
      {.time = kEnd, .status = v1::VALUE_STATUS_GAP});
  EXPECT_EQ(two.state(), CheckState::kUnknown);
  limits.where = Is(Comparison::kGreater, 95, "> 95");
  const CheckResult none = check(limits);
  EXPECT_EQ(none.state(), CheckState::kOk);
  EXPECT_EQ(none.Line(), "FLEETPERF OK - no value is > 95");
}

TEST(Check, DistinguishesWildcardsFromTheOperator) {
  EXPECT_TRUE(HasWildcards("\\CPU(*)\\Time"));
  EXPECT_TRUE(HasWildcards("2 * \\CPU(a?)\\Time"));
  EXPECT_FALSE(HasWildcards("2 * \\CPU(a)\\Time"));
}

TEST(Check, WritesThresholdsAsRanges) {
  const struct {
    Comparison comparison;
    const char* range;
  } kCases[] = {
      {Comparison::kGreater, "~:5"}, {Comparison::kGreaterOrEqual, "@5:"},
      {Comparison::kLess, "5:"},     {Comparison::kLessOrEqual, "@~:5"},
      {Comparison::kEqual, "@5:5"},  {Comparison::kNotEqual, "5:5"}};
  for (const auto& test : kCases) {
    CheckResult result(
        {.warn = Is(test.comparison, 5), .stale = absl::Minutes(1)});
    Put(&result, Processor("web-1", "a"), Now(1));
    EXPECT_THAT(result.Line(),
                HasSubstr(std::string("=1%;") + test.range + ";"));
  }
}

TEST(Check, WritesNumbersAndLabelsThatPluginsAccept) {
  CheckResult result({.stale = absl::Minutes(1)});
  v1::Series series = Processor("web-1", "it's a|b=c");
  series.set_unit("1/s");
  Put(&result, series, Now(1e15));
  series.set_path("\\B");
  Put(&result, series, Now(0.0000001));
  EXPECT_THAT(
      result.Line(),
      HasSubstr("'\\\\web-1\\CPU(it''s a/b:c)\\Time'=1000000000000000;;"));
  EXPECT_THAT(result.Line(), HasSubstr("\\B it''s a/b:c'=0;;"));
}

}  // namespace
}  // namespace fleetperf::cli
