// Calculates the value of a series in a window of time.
//
// A piece is two adjacent samples of one life. A piece is sound if it has no
// problem: no reset, no clock step, no gap. The value of a window is the
// formula over the growth in all of its sound pieces. A problem costs only its
// own piece, and is counted as a break.

#ifndef FLEETPERF_VALUES_WINDOW_H_
#define FLEETPERF_VALUES_WINDOW_H_

#include <algorithm>
#include <cstdint>
#include <optional>

#include "absl/time/time.h"
#include "values/counter_formula.h"
#include "values/exact_sum.h"
#include "values/formula.h"
#include "values/summary.h"
#include "values/value.h"

namespace fleetperf {

// The method that combines the values of a window's samples.
enum class Over : uint8_t {
  kFormula,  // growth of all pieces; average for one-sample formulas
  kAverage,
  kMinimum,
  kMaximum,
  kLast,
  kSum,
};

// Whether the values of a window are weighted by presence when they are added,
// averaged or ranked: rates, times, ratios and gauges, unless single samples
// are selected or added up. Plain deltas add up as they are, and an elapsed
// time is that of one moment.
bool IsWeighted(const CounterFormula& formula, Over over);

// Returns the coverage of the time in which the instance existed, given that of
// the window: 1 if it was absent from about all that is not covered. Coverage
// ends with samples, presence with ticks of the counterset.
inline double CoverageWhilePresent(double coverage, double presence) {
  constexpr double kLeastOfPresence = 0.9;
  const bool is_absence =
      presence < 1 && coverage >= kLeastOfPresence * presence;
  return is_absence ? 1 : coverage;
}

struct WindowValue {
  // If a part of the window does not count, `cause` is set even if there is a
  // value.
  CalculatedValue result;
  uint64_t breaks = 0;  // pieces that are not sound
  // The part of the window covered by sound pieces. Also 1 if the window is
  // covered from its start, and less than a piece is missing at its end: the
  // next window counts that piece.
  double coverage = 1;
  // The time in which the series was there, as part of the time in which the
  // series was there or known to be absent.
  double presence = 1;
  // For ratios by Over::kFormula, the sums of N and D. The mean of several is
  // the formula over the sums of all N and D. D is 0 if it is not a ratio.
  Growth ratio;
};

// Accumulates the pieces and samples of one window. A piece belongs to the
// window of its newer sample. Counters and lengths are added as integers,
// values as exact sums, and the value is rounded once, by Finish. So it does
// not depend on how the samples are divided into pieces, stretches and
// summaries, except where AddSummary says so. Thread-compatible.
class WindowAccumulator {
 public:
  // Adds a piece, for formulas that use two samples.
  void AddPiece(const CounterFormula& formula, Over over, const Piece& piece);
  // Adds a sample, for formulas that use one sample.
  void AddSample(const CounterFormula& formula, Over over,
                 const RawSample& sample);

  // Adds a sample or the piece that ends with it, as the formula requires. The
  // first sample of a formula that uses two samples adds nothing.
  void Add(const CounterFormula& formula, Over over, const RawSample& sample,
           const std::optional<Piece>& piece);

  // `count` consecutive sound pieces with their total growth and length. Only
  // for Over::kFormula.
  struct Pieces {
    Growth growth;
    uint64_t count = 0;
    absl::Time start;
    int64_t length = 0;   // in nanoseconds
    int64_t longest = 0;  // length of the longest piece, in nanoseconds
  };
  void AddPieces(const CounterFormula& formula, const Pieces& pieces) {
    AddGrowth(formula, pieces.growth, &growth_);
    AddTimes(pieces);
  }

  // Adds a summary. `newest` is its last sample. Summaries do not have the
  // average of the values of pieces; the formula over the summary's time
  // replaces it.
  void AddSummary(const CounterFormula& formula, Over over,
                  const Summary& summary, const RawSample& newest);

  bool empty() const { return pieces_ == 0 && breaks_ == 0; }

  // Returns the value of a window of this length that ends at `end`.
  WindowValue Finish(const CounterFormula& formula, Over over, absl::Time end,
                     absl::Duration window) const;

 private:
  WindowValue FinishSound(const CounterFormula& formula, Over over,
                          absl::Time end, absl::Duration window) const;
  // Adds a value for Over::kMinimum, kMaximum or kLast.
  void Combine(Over over, double value);
  void AddBreak(const CalculatedValue& problem);
  // Adds the number and times of sound pieces.
  void AddTimes(const Pieces& pieces) {
    covered_ += pieces.length;
    longest_ = std::max(longest_, pieces.longest);
    start_ = std::min(start_, pieces.start);
    pieces_ += pieces.count;
  }
  double Coverage(absl::Time end, absl::Duration window) const;

  Growth growth_;        // of sound pieces, or the counters of samples
  ExactSum sum_;         // of the values of pieces or raw fractions
  double combined_ = 0;  // the smallest, largest or last value
  absl::Time start_ = absl::InfiniteFuture();  // of the first sound piece
  int64_t covered_ = 0;                        // in nanoseconds
  int64_t longest_ = 0;  // longest sound piece, in nanoseconds
  uint64_t pieces_ = 0;  // sound pieces, or samples with a value
  uint64_t breaks_ = 0;
  CalculatedValue problem_;  // of the last break
};

}  // namespace fleetperf

#endif  // FLEETPERF_VALUES_WINDOW_H_
