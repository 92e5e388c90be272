#include "values/series_end.h"

#include "values/clock_check.h"
#include "values/piece.h"
#include "values/value.h"

namespace fleetperf {
namespace {

bool IsFall(const Piece& piece) {
  return piece.problem.status == ValueStatus::kNegativeValue ||
         piece.problem.status == ValueStatus::kNegativeDenominator;
}

}  // namespace

// Adds the next value of a counter. Returns whether it returned.
bool SeriesEnd::Fall::Follow(const RawValue& older, const RawValue& newer,
                             bool may_wrap, absl::Duration length,
                             absl::Duration interval) {
  if (Fell(older, newer, may_wrap)) {
    from = older.value;
    age = length;
    return false;
  }
  if (from == 0) return false;
  age += length;
  const bool is_late = age > interval * kMaxIntervalsToReturn;
  if (newer.value == older.value && !is_late) return false;
  const bool returned = newer.value >= from && !is_late;
  from = 0;
  return returned;
}

std::optional<Piece> SeriesEnd::PieceTo(const CounterFormula& formula,
                                        const RawSample& sample,
                                        absl::Duration interval) {
  std::optional<Piece> piece;
  if (formula.uses_two_samples() && sample_.has_value()) {
    piece = MakePiece(formula, *sample_, sample, interval);
    if (has_fallen() || IsFall(*piece)) {
      FollowFalls(sample, interval, &*piece);
    }
  }
  return piece;
}

void SeriesEnd::Set(const RawSample& sample, bool has_fallen) {
  const auto fall = [&](const RawValue& value) {
    return has_fallen && value.has_value() ? Fall{.from = value.value + 1}
                                           : Fall();
  };
  sample_ = sample;
  value_ = fall(sample.value);
  denominator_ = fall(sample.denominator);
}

void SeriesEnd::FollowFalls(const RawSample& sample, absl::Duration interval,
                            Piece* piece) {
  if (!piece->sound() && !IsFall(*piece)) {
    value_ = {};
    denominator_ = {};
    return;
  }
  const bool value_returned =
      value_.Follow(sample_->value, sample.value, sample.value.wraps,
                    piece->length, interval);
  const bool denominator_returned =
      denominator_.Follow(sample_->denominator, sample.denominator,
                          /*may_wrap=*/true, piece->length, interval);
  if (!piece->sound() || !(value_returned || denominator_returned)) return;
  piece->growth = {};
  piece->problem =
      CalculatedValue::Of(value_returned ? ValueStatus::kNegativeValue
                                         : ValueStatus::kNegativeDenominator);
}

}  // namespace fleetperf
