#include "aggregator/samples/thinned_query.h"

#include <algorithm>

#include "absl/base/casts.h"
#include "absl/numeric/int128.h"
#include "values/clock_check.h"

namespace fleetperf::aggregator {
namespace {

using perflib::Denominator;

// Flags of kProblem.
constexpr uint64_t kWithoutOlder = 1 << 16;
constexpr uint64_t kHasFallen = 1 << 17;

size_t Place(ColumnRole role) { return static_cast<size_t>(role); }

bool HasClock(const CounterFormula& formula) {
  return formula.denominator == Denominator::kPerfTimeStamp ||
         formula.denominator == Denominator::kPerfTime100NSec;
}

// The summary that a reader predicts from the two samples if nothing is wrong.
struct Expected {
  uint64_t growth = 0;
  uint64_t denominator = 0;
  uint64_t covered = 0;  // nanoseconds
};

uint64_t NanosOf(absl::Duration length) {
  return static_cast<uint64_t>(absl::ToInt64Nanoseconds(length));
}

uint64_t Grown(const RawValue& older, const RawValue& newer) {
  if (!older.has_value() || !newer.has_value()) return 0;
  return newer.value - older.value;
}

Expected ExpectPieces(const CounterFormula& formula, const RawSample* older,
                      const RawSample& newer) {
  Expected expected;
  if (older == nullptr) return expected;
  expected.growth = Grown(older->value, newer.value);
  expected.covered = NanosOf(ClockLength(older->clocks, newer.clocks));
  switch (formula.denominator) {
    case Denominator::kNone:
      break;
    case Denominator::kPerfTimeStamp:
      expected.denominator =
          static_cast<uint64_t>(newer.clocks.perf_time_stamp) -
          static_cast<uint64_t>(older->clocks.perf_time_stamp);
      break;
    case Denominator::kPerfTime100NSec:
      expected.denominator =
          static_cast<uint64_t>(newer.clocks.perf_time_100nsec) -
          static_cast<uint64_t>(older->clocks.perf_time_100nsec);
      break;
    case Denominator::kBaseCounter:
    case Denominator::kPerfTimeCounter:
      expected.denominator = Grown(older->denominator, newer.denominator);
      break;
  }
  return expected;
}

Expected Expect(const CounterFormula& formula, uint64_t pieces,
                const RawSample* older, const RawSample& newer) {
  if (formula.uses_two_samples()) return ExpectPieces(formula, older, newer);
  return {.growth = pieces * newer.value.value,
          .denominator = pieces * newer.denominator.value};
}

// Returns the predicted denominator of a single piece.
uint64_t ExpectedOfPiece(const CounterFormula& formula, const RawSample& newer,
                         absl::Duration thinned_from) {
  if (!HasClock(formula)) return 0;
  const int64_t per_second = formula.denominator == Denominator::kPerfTimeStamp
                                 ? std::max<int64_t>(newer.clocks.perf_freq, 0)
                                 : perflib::k100NSecPerSecond;
  return static_cast<uint64_t>(per_second) *
         static_cast<uint64_t>(absl::ToInt64Seconds(thinned_from));
}

bool IsFraction(const CounterFormula& formula) {
  return formula.formula == perflib::Formula::kRawFraction;
}

// Returns the bits of the sum of a fraction's values if its base had not
// changed.
uint64_t ExpectedSum(const CounterFormula& formula, const Summary& summary) {
  return absl::bit_cast<uint64_t>(
      CalculateGrowth(formula, summary.growth).value *
      static_cast<double>(summary.values));
}

// Returns the frequency of Growth that a reader knows from the tick.
uint64_t FrequencyAt(const CounterFormula& formula, const RawSample& newer) {
  return formula.uses_two_samples() ? static_cast<uint64_t>(std::max<int64_t>(
                                          newer.clocks.perf_freq, 0))
                                    : newer.frequency.value;
}

struct ExtremeNumbers {
  uint64_t value = 0;
  uint64_t denominator = 0;
};

ExtremeNumbers EncodeExtreme(const CounterFormula& formula,
                             const Growth& growth, const RawSample& newer,
                             absl::Duration thinned_from) {
  const uint64_t value = absl::Uint128Low64(growth.value);
  const uint64_t denominator = absl::Uint128Low64(growth.denominator);
  if (!formula.uses_two_samples()) {
    return {newer.value.value - value, newer.denominator.value - denominator};
  }
  // A counter that did not grow needs no denominator.
  if (value == 0 && HasClock(formula)) return {};
  return {value, denominator - ExpectedOfPiece(formula, newer, thinned_from)};
}

Summary::Extreme DecodeExtreme(const CounterFormula& formula,
                               const ExtremeNumbers& numbers,
                               const RawSample& newer,
                               absl::Duration thinned_from) {
  Summary::Extreme extreme;
  if (formula.uses_two_samples()) {
    extreme.growth = {
        .value = numbers.value,
        .denominator =
            numbers.denominator + ExpectedOfPiece(formula, newer, thinned_from),
        .perf_freq = FrequencyAt(formula, newer),
        .multi = newer.multi.value};
  } else {
    extreme.growth = {
        .value = newer.value.value - numbers.value,
        .denominator = newer.denominator.value - numbers.denominator,
        .perf_freq = FrequencyAt(formula, newer)};
  }
  extreme.value = CalculateExtreme(formula, extreme.growth).value;
  return extreme;
}

CounterFormula FormulaIn(const CollectedQuery& query, uint32_t counter_id) {
  const perflib::CounterRegistration* const counter =
      query.schema != nullptr
          ? query.schema->registration.FindCounter(counter_id)
          : nullptr;
  return counter != nullptr ? FormulaOf(query.schema->registration, *counter)
                            : CounterFormula();
}

}  // namespace

bool HasRole(const CounterFormula& formula, ColumnRole role) {
  return IsFraction(formula) ||
         (role != ColumnRole::kSum && role != ColumnRole::kSumRest &&
          role != ColumnRole::kSumRestOfRest);
}

CollectedQuery ThinnedQuery(const CollectedQuery& query,
                            absl::Duration interval) {
  CollectedQuery thinned = query;
  thinned.interval = std::max(query.interval, interval);
  if (query.is_thinned()) return thinned;
  thinned.thinned_from = query.interval;
  for (const CollectedQuery::Column& column : query.columns) {
    if (column.only_linked) continue;
    const CounterFormula formula = FormulaIn(query, column.counter_id);
    for (size_t role = 1; role < kColumnRoles; ++role) {
      if (!HasRole(formula, static_cast<ColumnRole>(role))) continue;
      thinned.columns.push_back({.counter_id = column.counter_id,
                                 .value_size = 8,
                                 .role = static_cast<ColumnRole>(role)});
    }
  }
  return thinned;
}

bool HasFallen(uint64_t problem) { return (problem & kHasFallen) != 0; }

void EncodeThere(const TimeThere& there, int64_t intervals,
                 SummaryNumbers* numbers) {
  (*numbers)[Place(ColumnRole::kAbsent)] =
      static_cast<uint64_t>(intervals - there.all);
  (*numbers)[Place(ColumnRole::kOwnBreaks)] =
      static_cast<uint64_t>(there.all - there.sound);
}

TimeThere DecodeThere(const SummaryNumbers& numbers, int64_t intervals) {
  // A damaged number may be larger.
  const auto rest = [&](ColumnRole role, int64_t of) {
    const auto whole = static_cast<uint64_t>(of);
    return static_cast<int64_t>(whole - std::min(whole, numbers[Place(role)]));
  };
  TimeThere there;
  there.all = rest(ColumnRole::kAbsent, intervals);
  there.sound = rest(ColumnRole::kOwnBreaks, there.all);
  return there;
}

SummaryNumbers EncodeSummary(const CounterFormula& formula,
                             const Summary& summary, const RawSample* older,
                             const RawSample& newer,
                             absl::Duration thinned_from) {
  SummaryNumbers numbers = {};
  const auto at = [&](ColumnRole role) -> uint64_t& {
    return numbers[Place(role)];
  };
  const Expected expected = Expect(formula, summary.pieces, older, newer);
  const Growth growth =
      InFrequency(formula, summary.growth, FrequencyAt(formula, newer));
  at(ColumnRole::kGrowth) = absl::Uint128Low64(growth.value) - expected.growth;
  at(ColumnRole::kGrowthHigh) = absl::Uint128High64(growth.value);
  at(ColumnRole::kDenominator) =
      absl::Uint128Low64(growth.denominator) - expected.denominator;
  at(ColumnRole::kDenominatorHigh) = absl::Uint128High64(growth.denominator);
  if (summary.values > 0) {
    const auto put = [&](const Summary::Extreme& extreme, ColumnRole value,
                         ColumnRole denominator) {
      const ExtremeNumbers encoded =
          EncodeExtreme(formula, extreme.growth, newer, thinned_from);
      at(value) = encoded.value;
      at(denominator) = encoded.denominator;
    };
    put(summary.smallest, ColumnRole::kSmallest,
        ColumnRole::kSmallestDenominator);
    put(summary.largest, ColumnRole::kLargest, ColumnRole::kLargestDenominator);
  }
  at(ColumnRole::kPieces) = summary.pieces;
  at(ColumnRole::kWithoutValue) = summary.pieces - summary.values;
  at(ColumnRole::kBreaks) = summary.breaks;
  if (summary.breaks > 0) {
    at(ColumnRole::kProblem) = static_cast<uint64_t>(summary.problem.status) |
                               static_cast<uint64_t>(summary.problem.cause)
                                   << 8;
  }
  if (older == nullptr) at(ColumnRole::kProblem) |= kWithoutOlder;
  if (summary.has_fallen) at(ColumnRole::kProblem) |= kHasFallen;
  at(ColumnRole::kCovered) = NanosOf(summary.covered) - expected.covered;
  if (IsFraction(formula)) {
    const std::array<double, 3> parts = summary.sum.Split();
    at(ColumnRole::kSum) =
        absl::bit_cast<uint64_t>(parts[0]) - ExpectedSum(formula, summary);
    at(ColumnRole::kSumRest) = absl::bit_cast<uint64_t>(parts[1]);
    at(ColumnRole::kSumRestOfRest) = absl::bit_cast<uint64_t>(parts[2]);
  }
  return numbers;
}

void RemoveOlder(const CounterFormula& formula, const RawSample& older,
                 const RawSample& newer, SummaryNumbers* numbers) {
  const auto at = [&](ColumnRole role) -> uint64_t& {
    return (*numbers)[Place(role)];
  };
  if ((at(ColumnRole::kProblem) & kWithoutOlder) != 0) return;
  at(ColumnRole::kProblem) |= kWithoutOlder;
  if (!formula.uses_two_samples()) return;
  const Expected expected = ExpectPieces(formula, &older, newer);
  at(ColumnRole::kGrowth) += expected.growth;
  at(ColumnRole::kDenominator) += expected.denominator;
  at(ColumnRole::kCovered) += expected.covered;
}

Summary DecodeSummary(const CounterFormula& formula,
                      const SummaryNumbers& numbers, const RawSample* older,
                      const RawSample& newer, absl::Duration thinned_from,
                      bool has_extremes) {
  const auto at = [&](ColumnRole role) { return numbers[Place(role)]; };
  if ((at(ColumnRole::kProblem) & kWithoutOlder) != 0) older = nullptr;
  Summary summary;
  // Damaged numbers may be larger.
  constexpr uint64_t kMaxPieces = uint64_t{1} << 32;
  summary.pieces = std::min(at(ColumnRole::kPieces), kMaxPieces);
  summary.values =
      summary.pieces - std::min(summary.pieces, at(ColumnRole::kWithoutValue));
  const Expected expected = Expect(formula, summary.pieces, older, newer);
  summary.growth = {
      .value = absl::MakeUint128(at(ColumnRole::kGrowthHigh),
                                 at(ColumnRole::kGrowth) + expected.growth),
      .denominator = absl::MakeUint128(
          at(ColumnRole::kDenominatorHigh),
          at(ColumnRole::kDenominator) + expected.denominator),
      .perf_freq = FrequencyAt(formula, newer),
      .multi = newer.multi.value};
  if (has_extremes && summary.values > 0) {
    summary.smallest = DecodeExtreme(
        formula,
        {at(ColumnRole::kSmallest), at(ColumnRole::kSmallestDenominator)},
        newer, thinned_from);
    summary.largest = DecodeExtreme(
        formula,
        {at(ColumnRole::kLargest), at(ColumnRole::kLargestDenominator)}, newer,
        thinned_from);
  }
  summary.has_fallen = HasFallen(at(ColumnRole::kProblem));
  summary.breaks = at(ColumnRole::kBreaks);
  if (summary.breaks > 0) {
    const uint64_t problem = at(ColumnRole::kProblem);
    summary.problem = {
        .status = static_cast<ValueStatus>(std::min<uint64_t>(
            problem & 0xFF, static_cast<uint64_t>(ValueStatus::kGap))),
        .cause = static_cast<GapCause>(std::min<uint64_t>(
            problem >> 8 & 0xFF, static_cast<uint64_t>(kLastGapCause)))};
  }
  if (IsFraction(formula)) {
    const uint64_t total = at(ColumnRole::kSum) + ExpectedSum(formula, summary);
    for (const uint64_t part :
         {total, at(ColumnRole::kSumRest), at(ColumnRole::kSumRestOfRest)}) {
      summary.sum.Add(absl::bit_cast<double>(part));
    }
  }
  summary.covered = absl::Nanoseconds(
      static_cast<int64_t>(at(ColumnRole::kCovered) + expected.covered));
  if (summary.pieces > 0) {
    summary.start = perflib::TimeOf(newer.clocks) - summary.covered;
  }
  return summary;
}

}  // namespace fleetperf::aggregator
