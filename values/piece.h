// Makes pieces from samples. The walker alone does
// (aggregator/samples/walker.h).

#ifndef FLEETPERF_VALUES_PIECE_H_
#define FLEETPERF_VALUES_PIECE_H_

#include "absl/time/time.h"
#include "perflib/clocks.h"
#include "values/counter_formula.h"
#include "values/formula.h"
#include "values/summary.h"

namespace fleetperf {

// Returns the piece between two samples alone: it may be the return of a
// counter that fell (series_end.h).
Piece MakePiece(const CounterFormula& formula, const RawSample& older,
                const RawSample& newer, absl::Duration interval);

// Returns the sample of a born instance at the tick before its first one: its
// cumulative counters were 0.
RawSample BeforeBirth(const RawSample& first, const perflib::Clocks& clocks);

}  // namespace fleetperf

#endif  // FLEETPERF_VALUES_PIECE_H_
