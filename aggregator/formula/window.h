// The value of a window of time: what a series' samples in it come to.
//
// A piece is two neighbouring samples of one life. A piece is sound if nothing
// is wrong between them: no reset, no step of the clock, no gap. A window's
// value is the formula over the growth in all of its sound pieces; what is
// wrong costs its own piece only, and is counted as a break.

#ifndef FLEETPERF_AGGREGATOR_FORMULA_WINDOW_H_
#define FLEETPERF_AGGREGATOR_FORMULA_WINDOW_H_

#include <cstdint>
#include <optional>

#include "absl/time/time.h"
#include "aggregator/formula/counter_formula.h"
#include "aggregator/formula/formula.h"
#include "aggregator/formula/value.h"

namespace fleetperf::aggregator {

// How the values of samples in a window become one.
enum class Over : uint8_t {
  kFormula,  // the formula over the growth; the average for one-sample formulas
  kAverage,
  kMinimum,
  kMaximum,
  kLast,
  kSum,
};

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

Piece MakePiece(const CounterFormula& formula, const RawSample& older,
                const RawSample& newer, absl::Duration interval);

struct WindowValue {
  // If not all of the window counts, the cause says why, also of a value.
  CalculatedValue result;
  uint32_t breaks = 0;  // pieces that are not sound
  // The part of the window that sound pieces cover. 1 also if it is covered
  // from its start and less than a piece is missing at its end: the next window
  // counts that.
  double coverage = 1;
  // Of ratios by Over::kFormula: what the value was calculated from, so that
  // several can be combined.
  std::optional<Growth> growth = std::nullopt;
};

// Adds up the pieces and samples of one window. What is added must belong to
// it: a piece belongs to the window that its newer sample is in.
class WindowAccumulator {
 public:
  // For formulas that use two samples.
  void AddPiece(const CounterFormula& formula, Over over, const Piece& piece);
  // For the others.
  void AddSample(const CounterFormula& formula, Over over,
                 const RawSample& sample);

  bool empty() const { return pieces_ == 0 && breaks_ == 0; }

  // The value of a window of this length that ends at `end`.
  WindowValue Finish(const CounterFormula& formula, Over over, absl::Time end,
                     absl::Duration window) const;

 private:
  WindowValue FinishSound(const CounterFormula& formula, Over over,
                          absl::Time end, absl::Duration window) const;
  void AddValue(Over over, double value);
  void AddBreak(const CalculatedValue& problem);
  double Coverage(absl::Time end, absl::Duration window) const;

  Growth growth_;
  double combined_ = 0;  // of the values of pieces or samples
  absl::Time start_ = absl::InfiniteFuture();  // of the first sound piece
  absl::Duration covered_;
  absl::Duration longest_;  // sound piece
  uint32_t pieces_ = 0;     // sound ones, or samples with a value
  uint32_t breaks_ = 0;
  CalculatedValue problem_;  // of the last break
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_FORMULA_WINDOW_H_
