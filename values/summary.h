// Summaries of the pieces or samples of a minute or an hour. Thinned data
// stores the summaries instead of the samples.

#ifndef FLEETPERF_VALUES_SUMMARY_H_
#define FLEETPERF_VALUES_SUMMARY_H_

#include <cstdint>

#include "absl/time/time.h"
#include "values/counter_formula.h"
#include "values/exact_sum.h"
#include "values/formula.h"
#include "values/piece.h"
#include "values/value.h"

namespace fleetperf {

// For formulas that use two samples, a summary of pieces; for others, of
// samples, where the growth of a sample is the values of its counters.
// Thread-compatible.
struct Summary {
  struct Extreme {
    Growth growth;
    double value = 0;
  };

  Growth growth;     // sum over sound pieces
  Extreme smallest;  // the piece with the smallest value
  // The piece with the largest value.
  Extreme largest;
  ExactSum sum;         // of the values of raw fractions
  uint64_t pieces = 0;  // number of sound pieces
  uint64_t values = 0;  // sound pieces with a value; none if D did not grow
  uint64_t breaks = 0;
  CalculatedValue problem;                    // of the last break
  absl::Time start = absl::InfiniteFuture();  // of the first sound piece
  absl::Duration covered;                     // by sound pieces
  TimeThere there;
  // Whether a counter fell and has not grown since: SeriesEnd::has_fallen after
  // the last sample.
  bool has_fallen = false;

  bool empty() const { return pieces == 0 && breaks == 0; }

  void AddPiece(const CounterFormula& formula, const Piece& piece);
  void AddSample(const CounterFormula& formula, const RawSample& sample);
  // Adds a summary that follows all data in this one.
  void Add(const CounterFormula& formula, const Summary& newer);
};

// Converts a sample's counters to a growth, for formulas that use one sample,
// and back.
Growth GrowthOfSample(const RawSample& sample);
CalculatedValue CalculateExtreme(const CounterFormula& formula,
                                 const Growth& growth);

}  // namespace fleetperf

#endif  // FLEETPERF_VALUES_SUMMARY_H_
