#include "aggregator/formula/window.h"

#include <algorithm>

#include "aggregator/store/frame.h"

namespace fleetperf::aggregator {
namespace {

absl::Duration TimeOfDayDuration(const RawSample& older,
                                 const RawSample& newer) {
  return perflib::TimeFromPerfTime100NSec(newer.clocks.perf_time_100nsec) -
         perflib::TimeFromPerfTime100NSec(older.clocks.perf_time_100nsec);
}

absl::Duration StampDuration(const RawSample& older, const RawSample& newer) {
  const int64_t freq = newer.clocks.perf_freq;
  if (freq <= 0) return TimeOfDayDuration(older, newer);  // there is no other
  return absl::Seconds(1) *
         (static_cast<double>(newer.clocks.perf_time_stamp) -
          static_cast<double>(older.clocks.perf_time_stamp)) /
         static_cast<double>(freq);
}

// The two clocks disagree by more than reading them one after the other, or by
// the coarse ticks of Windows' time of day, can explain.
bool ClockStepped(absl::Duration stamp, absl::Duration time_of_day) {
  const absl::Duration tolerance = absl::Milliseconds(50) + stamp / 100;
  return absl::AbsDuration(time_of_day - stamp) > tolerance;
}

std::optional<GapCause> BreakBetween(const RawSample& older,
                                     const RawSample& newer,
                                     absl::Duration length,
                                     absl::Duration interval) {
  if (older.life != newer.life) {
    return EpochOfLife(older.life) != EpochOfLife(newer.life)
               ? GapCause::kAgentRestart
               : GapCause::kNewLife;
  }
  if (!older.value.has_value() || !newer.value.has_value()) {
    return GapCause::kNoValue;
  }
  if (length > interval * kMaxIntervalsApart) return GapCause::kNoSamples;
  if (older.clocks.perf_freq != newer.clocks.perf_freq ||
      ClockStepped(length, TimeOfDayDuration(older, newer))) {
    return GapCause::kClockStep;
  }
  return std::nullopt;
}

// What a break is called in a value that leaves it out.
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

}  // namespace

Piece MakePiece(const CounterFormula& formula, const RawSample& older,
                const RawSample& newer, absl::Duration interval) {
  Piece piece{
      .start = perflib::TimeFromPerfTime100NSec(older.clocks.perf_time_100nsec),
      .length = StampDuration(older, newer)};
  if (const auto cause = BreakBetween(older, newer, piece.length, interval)) {
    piece.problem = CalculatedValue::Gap(*cause);
    return piece;
  }
  const GrowthOrStatus growth = GrowthBetween(formula, older, newer);
  piece.growth = growth.growth;
  piece.problem = CalculatedValue::Of(growth.status);
  return piece;
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
  // An uptime's average would be of a past moment; people mean the newest.
  const bool ramp = formula.formula == perflib::Formula::kElapsedTime;
  AddValue(over != Over::kFormula ? over
           : ramp                 ? Over::kLast
                                  : Over::kAverage,
           value.value);
  ++pieces_;
}

void WindowAccumulator::AddValue(Over over, double value) {
  const bool first = pieces_ == 0;
  switch (over) {
    case Over::kFormula:
    case Over::kAverage:
    case Over::kSum:
      combined_ += value;
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
  // Pieces end where samples are: the next may well have begun in this window.
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
  if (over == Over::kFormula && IsRatio(formula)) value.growth = growth_;
  if (formula.uses_two_samples() && over == Over::kFormula) {
    value.result = CalculateGrowth(formula, growth_);
    return value;
  }
  const bool ramp = formula.formula == perflib::Formula::kElapsedTime;
  const bool average =
      over == Over::kAverage || (over == Over::kFormula && !ramp);
  value.result = CalculatedValue::Of(average ? combined_ / pieces_ : combined_);
  return value;
}

}  // namespace fleetperf::aggregator
