#include "aggregator/query/run_ticks.h"

#include <algorithm>

#include "absl/numeric/int128.h"
#include "values/formula.h"

namespace fleetperf::aggregator {
namespace {

bool IsRising(absl::Span<const uint64_t> values) {
  bool falls = false;
  for (size_t i = 1; i < values.size(); ++i) {
    falls |= values[i] < values[i - 1];
  }
  return !falls;
}

}  // namespace

std::optional<RunGrowth> RunGrowth::Of(const CounterFormula& formula,
                                       const SeriesRun& run) {
  const auto values = run.Values();
  const auto denominators = run.Denominators();
  if (!values.has_value() || !denominators.has_value() || !IsRising(*values) ||
      !IsRising(*denominators) ||
      (NeedsDenominatorCounter(formula) &&
       !run.Sample(0).denominator.has_value())) {
    return std::nullopt;
  }
  RunGrowth growth(formula, run);
  growth.values_ = *values;
  growth.denominators_ = *denominators;
  return growth;
}

std::optional<Growth> RunGrowth::Between(uint32_t older, uint32_t newer) const {
  const auto grown = [&](absl::Span<const uint64_t> values) {
    return values.size() == 1 ? 0 : values[newer] - values[older];
  };
  const perflib::Clocks& from = run_.clocks(older);
  const perflib::Clocks& to = run_.clocks(newer);
  if (to.perf_freq <= 0 && NeedsPerfFreq(formula_)) return std::nullopt;
  Growth growth = {
      .value = grown(values_),
      .perf_freq = static_cast<uint64_t>(std::max<int64_t>(to.perf_freq, 0))};
  // Sound clocks do not go back.
  const auto since = [](int64_t start, int64_t end) {
    return static_cast<uint64_t>(end) - static_cast<uint64_t>(start);
  };
  switch (formula_.denominator) {
    case perflib::Denominator::kNone:
      break;
    case perflib::Denominator::kPerfTimeStamp:
      growth.denominator = since(from.perf_time_stamp, to.perf_time_stamp);
      break;
    case perflib::Denominator::kPerfTime100NSec:
      growth.denominator = since(from.perf_time_100nsec, to.perf_time_100nsec);
      break;
    case perflib::Denominator::kBaseCounter:
    case perflib::Denominator::kPerfTimeCounter:
      growth.denominator = grown(denominators_);
      break;
  }
  return growth;
}

absl::Duration LongestPiece(const SeriesRun& run, const Stretch& stretch,
                            uint32_t first, uint32_t end) {
  const uint32_t begin = run.first_tick();
  if (begin + end == stretch.last + 1 && begin + first <= stretch.first + 1) {
    const bool has_link = begin + first == stretch.first;
    return absl::Nanoseconds(
        std::max(has_link ? stretch.link.value_or(0) : 0, stretch.longest));
  }
  absl::Duration longest;
  for (uint32_t tick = first; tick < end; ++tick) {
    longest =
        std::max(longest, ClockLength(run.clocks(tick - 1), run.clocks(tick)));
  }
  return longest;
}

Summary WithNewLife(const CounterFormula& formula,
                    const std::optional<RawSample>& older,
                    const RawSample& newer, bool is_born,
                    const Summary& of_life) {
  if (!formula.uses_two_samples() || !older.has_value() || is_born ||
      older->life == newer.life) {
    return of_life;
  }
  Summary summary;
  summary.AddPiece(formula,
                   MakePiece(formula, *older, newer, absl::ZeroDuration()));
  summary.Add(formula, of_life);
  return summary;
}

Summary SummarizeRaw(const CounterFormula& formula, Over over,
                     absl::Span<const uint64_t> values, uint64_t count,
                     const FrameColumn::Total* total) {
  Summary summary = {.pieces = count, .values = count};
  const auto extreme = [&](uint64_t value) {
    const Growth growth = {.value = value};
    return Summary::Extreme{growth, CalculateExtreme(formula, growth).value};
  };
  switch (over) {
    case Over::kMinimum: {
      const uint64_t smallest = *std::min_element(values.begin(), values.end());
      summary.smallest = extreme(
          total == nullptr ? smallest : std::min(smallest, total->smallest));
      break;
    }
    case Over::kMaximum: {
      const uint64_t largest = *std::max_element(values.begin(), values.end());
      summary.largest = extreme(
          total == nullptr ? largest : std::max(largest, total->largest));
      break;
    }
    case Over::kLast:
      break;
    case Over::kFormula:
    case Over::kAverage:
    case Over::kSum: {
      if (total != nullptr) values.remove_suffix(1);
      // Summed in two halves, which cannot overflow.
      uint64_t low = 0;
      uint64_t high = 0;
      for (const uint64_t value : values) {
        low += value & UINT32_MAX;
        high += value >> 32;
      }
      summary.growth.value = (absl::uint128(high) << 32) + low;
      if (total != nullptr) {
        summary.growth.value += total->sum;
      } else if (values.size() == 1) {
        summary.growth.value *= count;
      }
      break;
    }
  }
  return summary;
}

}  // namespace fleetperf::aggregator
