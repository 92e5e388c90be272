#include "values/summary.h"

#include <algorithm>

#include "values/quotient.h"

namespace fleetperf {
namespace {

// Adds a piece's value.
void AddValue(const Growth& growth, const CalculatedValue& value,
              Summary* summary) {
  if (!value.ok()) return;
  const Summary::Extreme one = {growth, value.value};
  if (summary->values == 0 || one.value < summary->smallest.value) {
    summary->smallest = one;
  }
  if (summary->values == 0 || one.value > summary->largest.value) {
    summary->largest = one;
  }
  ++summary->values;
}

}  // namespace

double TimeThere::PresenceIn(int64_t intervals) const {
  // Own breaks count in neither.
  const int64_t absent = intervals - all;
  return absent > 0 ? PartOf(sound, sound + absent) : 1;
}

CalculatedValue ValueOfSample(const CounterFormula& formula,
                              const RawSample& sample,
                              const std::optional<Piece>& piece) {
  if (!formula.uses_two_samples()) return CalculateSample(formula, sample);
  if (!piece.has_value()) {
    return CalculatedValue::Of(ValueStatus::kNeedTwoSamples);
  }
  return piece->sound() ? CalculateGrowth(formula, piece->growth)
                        : piece->problem;
}

void Summary::AddPiece(const CounterFormula& formula, const Piece& piece) {
  if (!piece.sound()) {
    ++breaks;
    problem = piece.problem;
    return;
  }
  AddSound(formula, piece.growth, CalculateGrowth(formula, piece.growth));
  start = std::min(start, piece.start);
  covered += piece.length;
}

void Summary::AddSample(const CounterFormula& formula,
                        const RawSample& sample) {
  const CalculatedValue value = CalculateSample(formula, sample);
  if (!value.ok()) {
    ++breaks;
    problem = value;
    return;
  }
  AddSound(formula, GrowthOfSample(sample), value);
  if (formula.formula == perflib::Formula::kRawFraction) sum.Add(value.value);
}

void Summary::AddSound(const CounterFormula& formula, const Growth& one,
                       const CalculatedValue& value) {
  AddGrowth(formula, one, &growth);
  AddValue(one, value, this);
  ++pieces;
}

void Summary::Add(const CounterFormula& formula, const Summary& newer) {
  there.Add(newer.there);
  if (!newer.empty()) has_fallen = newer.has_fallen;
  if (newer.breaks > 0) {
    breaks += newer.breaks;
    problem = newer.problem;
  }
  if (newer.pieces == 0) return;
  AddGrowth(formula, newer.growth, &growth);
  if (newer.values > 0) {
    if (values == 0 || newer.smallest.value < smallest.value) {
      smallest = newer.smallest;
    }
    if (values == 0 || newer.largest.value > largest.value) {
      largest = newer.largest;
    }
  }
  sum.Add(newer.sum);
  values += newer.values;
  pieces += newer.pieces;
  start = std::min(start, newer.start);
  covered += newer.covered;
}

Growth GrowthOfSample(const RawSample& sample) {
  return {.value = sample.value.value,
          .denominator = sample.denominator.value,
          .perf_freq = sample.frequency.value};
}

CalculatedValue CalculateExtreme(const CounterFormula& formula,
                                 const Growth& growth) {
  if (formula.uses_two_samples()) return CalculateGrowth(formula, growth);
  const auto raw = [](absl::uint128 value) {
    return RawValue{.value = absl::Uint128Low64(value), .size = 8};
  };
  return CalculateSample(formula, {.value = raw(growth.value),
                                   .denominator = raw(growth.denominator),
                                   .frequency = raw(growth.perf_freq)});
}

}  // namespace fleetperf
