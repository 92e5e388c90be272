// The value of a window of time: what a series' samples in it come to.
//
// A piece is two neighbouring samples of one life. A piece is sound if nothing
// is wrong between them: no reset, no step of the clock, no gap. A window's
// value is the formula over the growth in all of its sound pieces; what is
// wrong costs its own piece only, and is counted as a break.

#ifndef FLEETPERF_AGGREGATOR_FORMULA_WINDOW_H_
#define FLEETPERF_AGGREGATOR_FORMULA_WINDOW_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "absl/time/time.h"
#include "aggregator/formula/counter_formula.h"
#include "aggregator/formula/formula.h"
#include "aggregator/formula/piece.h"
#include "aggregator/formula/summary.h"
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

struct WindowValue {
  // If not all of the window counts, the cause says why, also of a value.
  CalculatedValue result;
  uint64_t breaks = 0;  // pieces that are not sound
  // The part of the window that sound pieces cover. 1 also if it is covered
  // from its start and less than a piece is missing at its end: the next window
  // counts that.
  double coverage = 1;
  // Of ratios by Over::kFormula: what the value was calculated from, so that
  // several can be combined; else null. Few have it, and many are kept.
  std::shared_ptr<const Growth> growth = nullptr;
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

  // Either: a sample, and the piece that ends with it. The first sample of a
  // formula that uses two adds nothing.
  void Add(const CounterFormula& formula, Over over, const RawSample& sample,
           const std::optional<Piece>& piece);

  // `count` sound pieces, one after the other, that have this growth and length
  // together. Only for Over::kFormula.
  struct Pieces {
    Growth growth;
    uint64_t count = 0;
    absl::Time start;
    absl::Duration length;
    absl::Duration longest;  // of one of them
  };
  void AddPieces(const CounterFormula& formula, const Pieces& pieces);

  // `newest` is the last of the samples. Where the average of the values of
  // pieces is asked for, which the summary does not have, their formula over
  // its time stands for it.
  void AddSummary(const CounterFormula& formula, Over over,
                  const Summary& summary, const RawSample& newest);

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
  uint64_t pieces_ = 0;     // sound ones, or samples with a value
  uint64_t breaks_ = 0;
  CalculatedValue problem_;  // of the last break
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_FORMULA_WINDOW_H_
