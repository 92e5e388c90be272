#include "values/window.h"

#include <algorithm>

#include "values/quotient.h"

namespace fleetperf {
namespace {

// Returns the cause of a break in a window that still has a value.
GapCause CauseOf(const CalculatedValue& problem) {
  switch (problem.status) {
    case ValueStatus::kGap:
      return problem.cause;
    case ValueStatus::kNegativeValue:
    case ValueStatus::kNegativeDenominator:
      return GapCause::kReset;
    default:
      return GapCause::kNoValue;
  }
}

// Returns the method that combines the values of pieces or samples.
Over OverOfValues(const CounterFormula& formula, Over over) {
  if (over != Over::kFormula) return over;
  // The average of an uptime would refer to a past moment; users expect the
  // newest.
  return formula.formula == perflib::Formula::kElapsedTime ? Over::kLast
                                                           : Over::kAverage;
}

// Whether the values are added up, for their sum or mean.
bool AddsUp(Over over) {
  return over == Over::kFormula || over == Over::kAverage || over == Over::kSum;
}

bool IsFraction(const CounterFormula& formula) {
  return formula.formula == perflib::Formula::kRawFraction;
}

// Whether the sum of values is the value of the sums of counters, so that these
// are added.
bool AddsCounters(const CounterFormula& formula) {
  return !formula.uses_two_samples() && !IsFraction(formula);
}

// Returns the smallest, largest or last value of a summary, or the formula over
// its time.
CalculatedValue ValueOf(const CounterFormula& formula, Over over,
                        const Summary& summary, const RawSample& newest) {
  switch (over) {
    case Over::kMinimum:
      return CalculateExtreme(formula, summary.smallest.growth);
    case Over::kMaximum:
      return CalculateExtreme(formula, summary.largest.growth);
    case Over::kLast:
      return formula.uses_two_samples()
                 ? CalculateGrowth(formula, summary.growth)
                 : CalculateSample(formula, newest);
    case Over::kFormula:
    case Over::kAverage:
    case Over::kSum:
      break;
  }
  return CalculateGrowth(formula, summary.growth);
}

}  // namespace

bool IsWeighted(const CounterFormula& formula, Over over) {
  return (over == Over::kFormula || over == Over::kAverage) &&
         formula.formula != perflib::Formula::kDelta &&
         formula.formula != perflib::Formula::kElapsedTime;
}

void WindowAccumulator::AddPiece(const CounterFormula& formula, Over over,
                                 const Piece& piece) {
  if (!piece.sound()) return AddBreak(piece.problem);
  if (over == Over::kFormula) {
    AddGrowth(formula, piece.growth, &growth_);
  } else {
    const CalculatedValue value = CalculateGrowth(formula, piece.growth);
    if (!value.ok()) return AddBreak(value);
    if (AddsUp(over)) {
      sum_.Add(value.value);
    } else {
      Combine(over, value.value);
    }
  }
  const int64_t length = absl::ToInt64Nanoseconds(piece.length);
  AddTimes(
      {.count = 1, .start = piece.start, .length = length, .longest = length});
}

void WindowAccumulator::AddSample(const CounterFormula& formula, Over over,
                                  const RawSample& sample) {
  const CalculatedValue value = CalculateSample(formula, sample);
  if (!value.ok()) return AddBreak(value);
  const Over of_values = OverOfValues(formula, over);
  if (AddsUp(of_values)) {
    AddGrowth(formula, GrowthOfSample(sample), &growth_);
    if (IsFraction(formula)) sum_.Add(value.value);
  } else {
    Combine(of_values, value.value);
  }
  ++pieces_;
}

void WindowAccumulator::Add(const CounterFormula& formula, Over over,
                            const RawSample& sample,
                            const std::optional<Piece>& piece) {
  if (piece.has_value()) {
    AddPiece(formula, over, *piece);
  } else if (!formula.uses_two_samples()) {
    AddSample(formula, over, sample);
  }
}

void WindowAccumulator::AddSummary(const CounterFormula& formula, Over over,
                                   const Summary& summary,
                                   const RawSample& newest) {
  if (summary.breaks > 0) {
    breaks_ += summary.breaks;
    problem_ = summary.problem;
  }
  if (summary.pieces == 0) return;
  const bool two_samples = formula.uses_two_samples();
  // Approximate: assumes that all pieces have the same length.
  const int64_t covered = absl::ToInt64Nanoseconds(summary.covered);
  const int64_t longest = covered / static_cast<int64_t>(summary.pieces);
  if (two_samples && over == Over::kFormula) {
    AddPieces(formula, {.growth = summary.growth,
                        .count = summary.pieces,
                        .start = summary.start,
                        .length = covered,
                        .longest = longest});
    return;
  }
  if (summary.values < summary.pieces) {
    breaks_ += summary.pieces - summary.values;
    // The order of the breaks is unknown. The problem of a real break is more
    // specific.
    if (summary.breaks == 0) {
      problem_ = CalculatedValue::Of(ValueStatus::kZeroDenominator);
    }
  }
  if (summary.values == 0) return;
  const Over of_values = OverOfValues(formula, over);
  if (formula.formula == perflib::Formula::kElapsedTime &&
      summary.growth.perf_freq == 0) {
    breaks_ += summary.values;
    problem_ = CalculatedValue::Of(ValueStatus::kBadFrequency);
    return;
  }
  if (!two_samples && AddsUp(of_values)) {
    AddGrowth(formula, summary.growth, &growth_);
    if (IsFraction(formula)) sum_.Add(summary.sum);
    pieces_ += summary.values;
    return;
  }
  const CalculatedValue value = ValueOf(formula, of_values, summary, newest);
  if (!value.ok()) {
    breaks_ += summary.values;
    problem_ = value;
    return;
  }
  if (AddsUp(of_values)) {
    sum_.AddProduct(value.value, static_cast<double>(summary.values));
  } else {
    Combine(of_values, value.value);
  }
  if (!two_samples) {
    pieces_ += summary.values;
    return;
  }
  // Approximate: the pieces without a value are unknown.
  const absl::Duration length = summary.covered *
                                static_cast<int64_t>(summary.values) /
                                static_cast<int64_t>(summary.pieces);
  AddTimes({.count = summary.values,
            .start = summary.start,
            .length = absl::ToInt64Nanoseconds(length),
            .longest = longest});
}

void WindowAccumulator::Combine(Over over, double value) {
  if (pieces_ == 0 || over == Over::kLast ||
      (over == Over::kMinimum && value < combined_) ||
      (over == Over::kMaximum && value > combined_)) {
    combined_ = value;
  }
}

void WindowAccumulator::AddBreak(const CalculatedValue& problem) {
  ++breaks_;
  problem_ = problem;
}

WindowValue WindowAccumulator::Finish(const CounterFormula& formula, Over over,
                                      absl::Time end,
                                      absl::Duration window) const {
  WindowValue value = FinishSound(formula, over, end, window);
  if (value.result.ok() && breaks_ > 0) value.result.cause = CauseOf(problem_);
  return value;
}

double WindowAccumulator::Coverage(absl::Time end,
                                   absl::Duration window) const {
  if (window <= absl::ZeroDuration()) return 0;
  const int64_t length = absl::ToInt64Nanoseconds(window);
  // Pieces end at samples, so the next piece may have begun in this window.
  if (breaks_ == 0 && start_ <= end - window && length - covered_ < longest_) {
    return 1;
  }
  return PartOf(covered_, length);
}

WindowValue WindowAccumulator::FinishSound(const CounterFormula& formula,
                                           Over over, absl::Time end,
                                           absl::Duration window) const {
  WindowValue value{.breaks = breaks_};
  if (formula.uses_two_samples()) value.coverage = Coverage(end, window);
  if (pieces_ == 0) {
    value.coverage = 0;
    value.result =
        breaks_ > 0 ? problem_ : CalculatedValue::Gap(GapCause::kNoSamples);
    return value;
  }
  if (over == Over::kFormula && IsRatio(formula)) value.ratio = growth_;
  if (formula.uses_two_samples() && over == Over::kFormula) {
    value.result = CalculateGrowth(formula, growth_);
    return value;
  }
  const Over of_values = OverOfValues(formula, over);
  const uint64_t divisor = of_values == Over::kAverage ? pieces_ : 1;
  if (!AddsUp(of_values)) {
    value.result = CalculatedValue::Of(combined_);
  } else if (AddsCounters(formula)) {
    value.result = CalculateSampleSum(formula, growth_, divisor);
  } else {
    value.result =
        CalculatedValue::Of(sum_.DividedBy(static_cast<double>(divisor)));
  }
  return value;
}

}  // namespace fleetperf
