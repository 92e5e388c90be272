#include "values/formula_text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace fleetperf {
namespace {

using perflib::Denominator;
using perflib::Formula;

// Returns the formula without its scale. Variables stand for numbers: dN, N1,
// dD (the growth of the denominator), D1, F (the frequency), M1.
std::string Template(Formula formula) {
  switch (formula) {
    case Formula::kNotDisplayable:
      return "";
    case Formula::kRaw:
      return "N1";
    case Formula::kDelta:
      return "dN";
    case Formula::kRate:
      return "dN * F / dD";
    case Formula::kQueueLength:
    case Formula::kAverageBulk:
      return "dN / dD";
    case Formula::kTimer:
    case Formula::kSampleFraction:
      return "100 * dN / dD";
    case Formula::kTimerInverse:
      return "100 * (1 - dN / dD)";
    case Formula::kMultiTimer:
      return "100 * dN * F / (dD * M1)";
    case Formula::kMultiTimer100Ns:
      return "100 * dN / (dD * M1)";
    case Formula::kMultiTimerInverse:
      return "100 * (M1 - dN / dD)";
    case Formula::kRawFraction:
      return "100 * N1 / D1";
    case Formula::kAverageTimer:
      return "dN / F / dD";
    case Formula::kElapsedTime:
      return "(D1 - N1) / F";
  }
  return "";
}

std::string Scaled(const CounterFormula& formula, const std::string& text) {
  if (formula.scale == 0 || text.empty()) return text;
  return absl::StrCat("(", text, ") * 10^", formula.scale);
}

std::string Number(const RawValue& value) { return absl::StrCat(value.value); }

std::string Minus(const std::string& newer, const std::string& older) {
  return absl::StrCat("(", newer, " - ", older, ")");
}

std::string GrowthOf(const RawValue& older, const RawValue& newer) {
  const std::string growth = Minus(Number(newer), Number(older));
  return newer.value >= older.value ? growth
                                    : absl::StrCat("(2^32 + ", growth, ")");
}

std::string DenominatorGrowth(const CounterFormula& formula,
                              const RawSample& older, const RawSample& newer) {
  switch (formula.denominator) {
    case Denominator::kNone:
      return "";
    case Denominator::kPerfTimeStamp:
      return Minus(absl::StrCat(newer.clocks.perf_time_stamp),
                   absl::StrCat(older.clocks.perf_time_stamp));
    case Denominator::kPerfTime100NSec:
      return Minus(absl::StrCat(newer.clocks.perf_time_100nsec),
                   absl::StrCat(older.clocks.perf_time_100nsec));
    case Denominator::kBaseCounter:
    case Denominator::kPerfTimeCounter:
      return GrowthOf(older.denominator, newer.denominator);
  }
  return "";
}

}  // namespace

std::string FormulaText(const CounterFormula& formula) {
  return Scaled(formula, Template(formula.formula));
}

std::string ArithmeticText(const CounterFormula& formula,
                           const std::optional<RawSample>& older,
                           const RawSample& newer) {
  const std::string freq = formula.formula == Formula::kElapsedTime
                               ? Number(newer.frequency)
                               : absl::StrCat(newer.clocks.perf_freq);
  std::vector<std::pair<absl::string_view, std::string>> numbers = {
      {"N1", Number(newer.value)},
      {"D1", Number(newer.denominator)},
      {"M1", Number(newer.multi)},
      {"F", freq}};
  if (older.has_value()) {
    numbers.push_back({"dN", GrowthOf(older->value, newer.value)});
    numbers.push_back({"dD", DenominatorGrowth(formula, *older, newer)});
  }
  return Scaled(formula,
                absl::StrReplaceAll(Template(formula.formula), numbers));
}

std::string DenominatorText(const CounterFormula& formula) {
  if (UsesBlockClocks(formula)) {
    return "PerfTimeStamp, or PerfTime100NSec if the start is later";
  }
  switch (formula.denominator) {
    case Denominator::kNone:
      return "";
    case Denominator::kPerfTimeStamp:
      return "PerfTimeStamp";
    case Denominator::kPerfTime100NSec:
      return "PerfTime100NSec";
    case Denominator::kBaseCounter:
    case Denominator::kPerfTimeCounter:
      return formula.denominator_id.has_value()
                 ? absl::StrCat("counter ", *formula.denominator_id)
                 : "a counter that is not in the registration";
  }
  return "";
}

}  // namespace fleetperf
