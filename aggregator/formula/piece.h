// A piece: two neighbouring samples of a series.

#ifndef FLEETPERF_AGGREGATOR_FORMULA_PIECE_H_
#define FLEETPERF_AGGREGATOR_FORMULA_PIECE_H_

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

// Whether nothing is wrong between two samples of one life, going by their
// clocks alone.
bool IsSound(const perflib::Clocks& older, const perflib::Clocks& newer,
             absl::Duration interval);

Piece MakePiece(const CounterFormula& formula, const RawSample& older,
                const RawSample& newer, absl::Duration interval);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_FORMULA_PIECE_H_
