#include "aggregator/query/choice.h"

#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::aggregator {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

SeriesResult Result(const std::string& path, const CalculatedValue& total) {
  SeriesResult result{.points = {{}, {}}, .total = {.result = total}};
  result.series.set_path(path);
  return result;
}

// Returns the chosen ones of the series a = 3, b = 1, c = 2, d = 3, and e
// without a value.
std::vector<std::string> Choose(const Choice& choice) {
  std::vector<std::string> paths;
  const auto keep = [&](const SeriesResult& result) {
    paths.push_back(result.series.path());
    return absl::OkStatus();
  };
  Chooser chooser(choice, keep);
  const std::vector<std::pair<std::string, double>> kValues = {
      {"a", 3}, {"b", 1}, {"c", 2}, {"d", 3}};
  EXPECT_OK(chooser.Add(Result("e", CalculatedValue::Gap(GapCause::kReset))));
  for (const auto& [path, value] : kValues) {
    EXPECT_OK(chooser.Add(Result(path, CalculatedValue::Of(value))));
    // Two points each.
    EXPECT_LE(chooser.held(), 2 * std::max(choice.top, choice.bottom));
  }
  EXPECT_OK(chooser.Finish());
  return paths;
}

TEST(Chooser, PassesEverythingOnByDefault) {
  EXPECT_THAT(Choose({}), ElementsAre("e", "a", "b", "c", "d"));
}

TEST(Chooser, RanksByValueThenByArrival) {
  EXPECT_THAT(Choose({.top = 1}), ElementsAre("a"));
  EXPECT_THAT(Choose({.top = 3}), ElementsAre("a", "d", "c"));
  EXPECT_THAT(Choose({.top = 9}), ElementsAre("a", "d", "c", "b"));
  EXPECT_THAT(Choose({.bottom = 1}), ElementsAre("b"));
  EXPECT_THAT(Choose({.bottom = 3}), ElementsAre("b", "c", "a"));
}

TEST(Chooser, SelectsSeriesThatMeetACondition) {
  const auto where = [](Comparison comparison, double number) {
    return Choose({.where = Condition{comparison, number}});
  };
  EXPECT_THAT(where(Comparison::kGreater, 2), ElementsAre("a", "d"));
  EXPECT_THAT(where(Comparison::kGreaterOrEqual, 2),
              ElementsAre("a", "c", "d"));
  EXPECT_THAT(where(Comparison::kLess, 2), ElementsAre("b"));
  EXPECT_THAT(where(Comparison::kLessOrEqual, 2), ElementsAre("b", "c"));
  EXPECT_THAT(where(Comparison::kEqual, 2), ElementsAre("c"));
  EXPECT_THAT(where(Comparison::kNotEqual, 2), ElementsAre("a", "b", "d"));
  EXPECT_THAT(where(Comparison::kGreater, 3), IsEmpty());
}

TEST(Chooser, RanksTheSeriesOfEachCounter) {
  const auto result_of = [](const std::string& counter, const std::string& unit,
                            double value, double presence) {
    SeriesResult result = Result(counter, CalculatedValue::Of(value));
    result.total.presence = presence;
    result.is_weighted = true;
    result.series.set_counter(counter);
    result.series.set_unit(unit);
    return result;
  };
  std::vector<std::string> ranked;
  const auto keep = [&](const SeriesResult& result) {
    ranked.push_back(absl::StrCat(result.series.counter(), " ",
                                  result.series.unit(), " ", *result.share));
    return absl::OkStatus();
  };
  Chooser chooser({.top = 2}, keep);
  for (const double value : {50, 70, 90}) {
    EXPECT_OK(chooser.Add(result_of("Size", "B", 1000 + value, 1)));
    EXPECT_OK(
        chooser.Add(result_of("Load", "%", value, value == 90 ? 0.5 : 1)));
    EXPECT_OK(chooser.Add(result_of("Load", "s", value, 1)));
  }
  EXPECT_OK(chooser.Finish());
  EXPECT_THAT(ranked, ElementsAre("Load % 70", "Load % 50", "Load s 90",
                                  "Load s 70", "Size B 1090", "Size B 1070"));
}

TEST(Chooser, RanksSeriesThatMeetTheCondition) {
  EXPECT_THAT(Choose({.where = Condition{Comparison::kLess, 3}, .top = 1}),
              ElementsAre("c"));
  EXPECT_THAT(
      Choose({.where = Condition{Comparison::kGreater, 1}, .bottom = 2}),
      ElementsAre("c", "a"));
}

TEST(Chooser, OmitsInfiniteAndNaNValues) {
  const double kInfinity = std::numeric_limits<double>::infinity();
  const double kNan = std::numeric_limits<double>::quiet_NaN();
  for (const Choice& choice :
       {Choice{.top = 4}, Choice{.bottom = 4},
        Choice{.where = Condition{Comparison::kNotEqual, 7}}}) {
    std::multiset<std::string> paths;
    const auto keep = [&](const SeriesResult& result) {
      paths.insert(result.series.path());
      return absl::OkStatus();
    };
    Chooser chooser(choice, keep);
    for (const auto& [path, value] :
         std::vector<std::pair<const char*, double>>{{"nan", kNan},
                                                     {"a", 1},
                                                     {"inf", kInfinity},
                                                     {"b", 2},
                                                     {"-inf", -kInfinity}}) {
      EXPECT_OK(chooser.Add(Result(path, CalculatedValue::Of(value))));
    }
    EXPECT_OK(chooser.Finish());
    EXPECT_THAT(paths, ElementsAre("a", "b"));
  }
}

TEST(ConditionFromProto, RequiresANumber) {
  v1::Condition proto;
  proto.set_comparison(v1::COMPARISON_GREATER);
  proto.set_number(std::numeric_limits<double>::quiet_NaN());
  EXPECT_THAT(ConditionFromProto(proto),
              testing::StatusIs(absl::StatusCode::kInvalidArgument,
                                ::testing::HasSubstr("number")));
}

TEST(Chooser, ReturnsTheSinksError) {
  const auto refuse = [](const SeriesResult&) {
    return absl::CancelledError("enough");
  };
  const auto add = [&](const Choice& choice) {
    Chooser chooser(choice, refuse);
    absl::Status status = chooser.Add(Result("a", CalculatedValue::Of(1.0)));
    return status.ok() ? chooser.Finish() : status;
  };
  EXPECT_THAT(add({}),
              testing::StatusIs(absl::StatusCode::kCancelled, "enough"));
  EXPECT_THAT(add({.top = 1}),
              testing::StatusIs(absl::StatusCode::kCancelled, "enough"));
}

TEST(Condition, ConvertsItsNumberToTheUnitOfTheValues) {
  v1::Condition proto;
  proto.set_comparison(v1::COMPARISON_GREATER_OR_EQUAL);
  proto.set_number(1.5);
  proto.set_unit("GiB");
  ASSERT_OK_AND_ASSIGN(const Condition condition, ConditionFromProto(proto));
  ASSERT_OK_AND_ASSIGN(const Condition in_bytes, condition.In("B", "\\M\\C"));
  EXPECT_TRUE(in_bytes.HoldsFor(1610612736));
  EXPECT_FALSE(in_bytes.HoldsFor(1610612735));
  EXPECT_THAT(condition.In("%", "\\M\\C").status(),
              testing::StatusIs(
                  absl::StatusCode::kInvalidArgument,
                  ::testing::HasSubstr("1.5 GiB cannot be compared with the "
                                       "values of \\M\\C, which are in %")));
  proto.set_unit("furlongs");
  EXPECT_FALSE(ConditionFromProto(proto).ok());
}

}  // namespace
}  // namespace fleetperf::aggregator
