// A piece: two neighbouring samples of a series.

#ifndef FLEETPERF_AGGREGATOR_FORMULA_PIECE_H_
#define FLEETPERF_AGGREGATOR_FORMULA_PIECE_H_

#include <cstdint>
#include <cstdlib>
#include <optional>

#include "absl/time/time.h"
#include "aggregator/formula/counter_formula.h"
#include "aggregator/formula/formula.h"
#include "aggregator/formula/value.h"
#include "perflib/clocks.h"

namespace fleetperf::aggregator {

// Samples further apart than this many intervals have a gap between them. Half
// an interval more than two, because ticks are not exact.
inline constexpr double kMaxIntervalsApart = 2.5;

// Two neighbouring samples: either `problem` is OK and there is growth, or it
// says why there is none.
struct Piece {
  Growth growth;
  CalculatedValue problem;
  absl::Time start;       // of the older sample
  absl::Duration length;  // by the clock that does not step

  bool sound() const { return problem.ok(); }
};

// By the clock that does not step; by the time of day if there is no other.
absl::Duration ClockLength(const perflib::Clocks& older,
                           const perflib::Clocks& newer);

// Finds what is wrong between neighbouring samples of one life, going by their
// clocks alone. Made once for many. Immutable.
class ClockCheck {
 public:
  // As many of them can be reckoned with in integers.
  static constexpr int64_t kMostTicks = int64_t{1} << 55;

  // Of samples that are collected at this interval.
  explicit ClockCheck(absl::Duration interval);

  // ClockLength, in nanoseconds, if both clocks went on and nothing is wrong.
  std::optional<int64_t> SoundLength(const perflib::Clocks& older,
                                     const perflib::Clocks& newer) const {
    int64_t length = 0;
    int64_t time_of_day = 0;
    // Reckoned in integers where both clocks tick so.
    if (older.perf_freq != perflib::kLinuxPerfFreq ||
        newer.perf_freq != perflib::kLinuxPerfFreq ||
        __builtin_sub_overflow(newer.perf_time_stamp, older.perf_time_stamp,
                               &length) ||
        __builtin_sub_overflow(newer.perf_time_100nsec, older.perf_time_100nsec,
                               &time_of_day) ||
        length >= kMostTicks || time_of_day >= kMostTicks) {
      return SoundLengthOfOthers(older, newer);
    }
    if (length < 0 || time_of_day < 0 || length > longest_ ||
        100 * std::abs(time_of_day - length) > 100 * kTolerance + length) {
      return std::nullopt;
    }
    return 100 * length;
  }

 private:
  // By how many the clocks may disagree, and by a hundredth of the length.
  static constexpr int64_t kTolerance = perflib::kLinuxPerfFreq / 20;

  std::optional<int64_t> SoundLengthOfOthers(
      const perflib::Clocks& older, const perflib::Clocks& newer) const;

  absl::Duration interval_;
  int64_t longest_;  // in ticks of 100 ns
};

Piece MakePiece(const CounterFormula& formula, const RawSample& older,
                const RawSample& newer, absl::Duration interval);

// The piece that ends with a series' next sample: nothing if `last` is, or the
// formula uses one sample.
std::optional<Piece> PieceTo(const CounterFormula& formula,
                             const std::optional<RawSample>& last,
                             const RawSample& sample, absl::Duration interval);

// The value that a sample has by itself, or with the piece that ends with it.
CalculatedValue ValueOfSample(const CounterFormula& formula,
                              const RawSample& sample,
                              const std::optional<Piece>& piece);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_FORMULA_PIECE_H_
