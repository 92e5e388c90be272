#include "aggregator/samples/run_growth.h"

#include <algorithm>

#include "values/formula.h"

namespace fleetperf::aggregator {
namespace {

// Returns whether the values of the ticks from `first` to before `end` never
// decrease. A single value: all are equal.
bool IsRising(absl::Span<const uint64_t> values, uint32_t first, uint32_t end) {
  if (values.size() > 1) values = values.subspan(first, end - first);
  bool falls = false;
  for (size_t i = 1; i < values.size(); ++i) {
    falls |= values[i] < values[i - 1];
  }
  return !falls;
}

}  // namespace

std::optional<RunGrowth> RunGrowth::Of(const CounterFormula& formula,
                                       const SeriesRun& run, uint32_t first,
                                       uint32_t end) {
  const auto values = run.Values();
  const auto denominators = run.Denominators();
  if (!values.has_value() || !denominators.has_value() ||
      !IsRising(*values, first, end) || !IsRising(*denominators, first, end) ||
      (NeedsDenominatorCounter(formula) &&
       !run.Sample(0).denominator.has_value())) {
    return std::nullopt;
  }
  RunGrowth growth(formula, run);
  growth.values_ = *values;
  growth.denominators_ = *denominators;
  return growth;
}

bool RunGrowth::Between(uint32_t older, uint32_t newer, Growth* growth) const {
  const auto grown = [&](absl::Span<const uint64_t> values) {
    return values.size() == 1 ? 0 : values[newer] - values[older];
  };
  const perflib::Clocks& from = run_.clocks(older);
  const perflib::Clocks& to = run_.clocks(newer);
  if (to.perf_freq <= 0 && NeedsPerfFreq(formula_)) return false;
  growth->value = grown(values_);
  growth->multi = 0;
  growth->perf_freq = static_cast<uint64_t>(std::max<int64_t>(to.perf_freq, 0));
  // Sound clocks do not go back.
  const auto since = [](int64_t start, int64_t end) {
    return static_cast<uint64_t>(end) - static_cast<uint64_t>(start);
  };
  switch (formula_.denominator) {
    case perflib::Denominator::kNone:
      growth->denominator = 0;
      break;
    case perflib::Denominator::kPerfTimeStamp:
      growth->denominator = since(from.perf_time_stamp, to.perf_time_stamp);
      break;
    case perflib::Denominator::kPerfTime100NSec:
      growth->denominator = since(from.perf_time_100nsec, to.perf_time_100nsec);
      break;
    case perflib::Denominator::kBaseCounter:
    case perflib::Denominator::kPerfTimeCounter:
      growth->denominator = grown(denominators_);
      break;
  }
  return true;
}

}  // namespace fleetperf::aggregator
