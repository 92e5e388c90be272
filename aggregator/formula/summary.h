// What the pieces or samples of some time come to together, so that they need
// not be kept: those of a minute or an hour, in thinned data.

#ifndef FLEETPERF_AGGREGATOR_FORMULA_SUMMARY_H_
#define FLEETPERF_AGGREGATOR_FORMULA_SUMMARY_H_

#include <cstdint>

#include "absl/time/time.h"
#include "aggregator/formula/counter_formula.h"
#include "aggregator/formula/formula.h"
#include "aggregator/formula/piece.h"
#include "aggregator/formula/value.h"

namespace fleetperf::aggregator {

// Of formulas that use two samples it has the pieces, of others the samples; a
// sample's growth is what its counters are. Thread-compatible.
struct Summary {
  struct Extreme {
    Growth growth;
    double value = 0;
  };

  Growth growth;     // of all that are sound
  Extreme smallest;  // the piece with the smallest value, and the largest
  Extreme largest;
  double sum = 0;       // of the values, for raw fractions
  uint64_t pieces = 0;  // sound ones
  uint64_t values = 0;  // those that have one: where D did not grow, none has
  uint64_t breaks = 0;
  CalculatedValue problem;                    // of the last break
  absl::Time start = absl::InfiniteFuture();  // of the first sound piece
  absl::Duration covered;                     // by sound pieces

  bool empty() const { return pieces == 0 && breaks == 0; }

  void AddPiece(const CounterFormula& formula, const Piece& piece);
  void AddSample(const CounterFormula& formula, const RawSample& sample);
  // What came after all that it has.
  void Add(const CounterFormula& formula, const Summary& newer);
};

// A sample's counters as its growth, for formulas that use one; and back.
Growth GrowthOfSample(const RawSample& sample);
CalculatedValue CalculateExtreme(const CounterFormula& formula,
                                 const Growth& growth);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_FORMULA_SUMMARY_H_
