#include "aggregator/formula/window.h"

#include <algorithm>

namespace fleetperf::aggregator {
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

// Returns the sum of the values of a summary of samples.
CalculatedValue SumOf(const CounterFormula& formula, const Summary& summary) {
  return formula.formula == perflib::Formula::kRawFraction
             ? CalculatedValue::Of(summary.sum)
             : CalculateSampleSum(formula, summary.growth, summary.values);
}

// Returns the mean, smallest, largest or last value of a summary.
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
  if (formula.formula == perflib::Formula::kRawFraction) {
    const double mean = summary.sum / static_cast<double>(summary.values);
    // The sum is rounded, but a mean of equal values is that value.
    return CalculatedValue::Of(std::min(std::max(mean, summary.smallest.value),
                                        summary.largest.value));
  }
  return formula.uses_two_samples()
             ? CalculateGrowth(formula, summary.growth)
             : CalculateSampleMean(formula, summary.growth, summary.values);
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
    AddValue(over, value.value);
  }
  covered_ += piece.length;
  longest_ = std::max(longest_, piece.length);
  start_ = std::min(start_, piece.start);
  ++pieces_;
}

void WindowAccumulator::AddSample(const CounterFormula& formula, Over over,
                                  const RawSample& sample) {
  const CalculatedValue value = CalculateSample(formula, sample);
  if (!value.ok()) return AddBreak(value);
  if (formula.formula == perflib::Formula::kRawFraction) {
    growth_.value += sample.value.value;
    growth_.denominator += sample.denominator.value;
  }
  AddValue(OverOfValues(formula, over), value.value);
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

void WindowAccumulator::AddPieces(const CounterFormula& formula,
                                  const Pieces& pieces) {
  AddGrowth(formula, pieces.growth, &growth_);
  covered_ += pieces.length;
  longest_ = std::max(longest_, pieces.longest);
  start_ = std::min(start_, pieces.start);
  pieces_ += pieces.count;
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
  const absl::Duration longest =
      summary.covered / static_cast<int64_t>(summary.pieces);
  if (two_samples && over == Over::kFormula) {
    AddPieces(formula, {.growth = summary.growth,
                        .count = summary.pieces,
                        .start = summary.start,
                        .length = summary.covered,
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
  const bool is_sum = of_values == Over::kSum && !two_samples;
  const CalculatedValue value =
      is_sum ? SumOf(formula, summary)
             : ValueOf(formula, of_values, summary, newest);
  if (!value.ok()) {
    breaks_ += summary.values;
    problem_ = value;
    return;
  }
  if (formula.formula == perflib::Formula::kRawFraction) {
    growth_.value += summary.growth.value;
    growth_.denominator += summary.growth.denominator;
  }
  AddValue(of_values, value.value, is_sum ? 1 : summary.values);
  pieces_ += summary.values;
  if (!two_samples) return;
  // Approximate: the pieces without a value are unknown.
  covered_ += summary.covered * (static_cast<double>(summary.values) /
                                 static_cast<double>(summary.pieces));
  longest_ = std::max(longest_, longest);
  start_ = std::min(start_, summary.start);
}

void WindowAccumulator::AddValue(Over over, double value, uint64_t count) {
  if (AddsUp(over)) {
    if (count == 1) return sum_.Add(value);
    return sum_.AddProduct(value, static_cast<double>(count));
  }
  const bool first = pieces_ == 0;
  switch (over) {
    case Over::kFormula:
    case Over::kAverage:
    case Over::kSum:
      break;
    case Over::kMinimum:
      combined_ = first ? value : std::min(combined_, value);
      break;
    case Over::kMaximum:
      combined_ = first ? value : std::max(combined_, value);
      break;
    case Over::kLast:
      combined_ = value;
      break;
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
  // Pieces end at samples, so the next piece may have begun in this window.
  if (breaks_ == 0 && start_ <= end - window && window - covered_ < longest_) {
    return 1;
  }
  return std::min(1.0, absl::FDivDuration(covered_, window));
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
  if (over == Over::kFormula && IsRatio(formula)) {
    value.ratio = {.value = CalculateGrowth(formula, growth_).value,
                   .denominator = static_cast<double>(growth_.denominator)};
  }
  if (formula.uses_two_samples() && over == Over::kFormula) {
    value.result = CalculateGrowth(formula, growth_);
    return value;
  }
  const Over of_values = OverOfValues(formula, over);
  if (of_values == Over::kAverage) {
    value.result =
        CalculatedValue::Of(sum_.DividedBy(static_cast<double>(pieces_)));
  } else {
    value.result =
        CalculatedValue::Of(AddsUp(of_values) ? sum_.Total() : combined_);
  }
  return value;
}

}  // namespace fleetperf::aggregator
