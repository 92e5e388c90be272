// A piece, which is two adjacent samples of a series, and the summary of the
// pieces or samples of a minute or an hour. Thinned data stores the summaries
// instead of the samples.

#ifndef FLEETPERF_VALUES_SUMMARY_H_
#define FLEETPERF_VALUES_SUMMARY_H_

#include <cstdint>
#include <optional>

#include "absl/time/time.h"
#include "values/counter_formula.h"
#include "values/exact_sum.h"
#include "values/formula.h"
#include "values/value.h"

namespace fleetperf {

// Two adjacent samples. Either `problem` is OK and there is growth, or
// `problem` is the reason why there is none.
struct Piece {
  Growth growth;
  CalculatedValue problem;
  absl::Time start;       // of the older sample
  absl::Duration length;  // by the monotonic clock

  bool sound() const { return problem.ok(); }
};

// The time of the tick intervals in which a series was there, in nanoseconds. A
// tick interval is the time between two neighbouring ticks of a query.
struct TimeThere {
  int64_t all = 0;
  int64_t sound = 0;  // without the series' own breaks

  // Adds an interval.
  void Add(int64_t length, bool is_sound) {
    all += length;
    if (is_sound) sound += length;
  }
  void Add(const TimeThere& other) {
    all += other.all;
    sound += other.sound;
  }
  // Returns the presence of the series, from the time of all tick intervals of
  // its query. 1 if there is no such time.
  double PresenceIn(int64_t intervals) const;
};

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
  // Adds the growth of a sound piece or the counters of a sample (not of a raw
  // fraction), with its value. The caller adds the piece's start and length.
  void AddSound(const CounterFormula& formula, const Growth& one,
                const CalculatedValue& value);
  // Adds a summary that follows all data in this one.
  void Add(const CounterFormula& formula, const Summary& newer);
};

// Returns the value of a sample alone, or of the piece that ends with it.
CalculatedValue ValueOfSample(const CounterFormula& formula,
                              const RawSample& sample,
                              const std::optional<Piece>& piece);

// Converts a sample's counters to a growth, for formulas that use one sample,
// and back.
Growth GrowthOfSample(const RawSample& sample);
CalculatedValue CalculateExtreme(const CounterFormula& formula,
                                 const Growth& growth);

}  // namespace fleetperf

#endif  // FLEETPERF_VALUES_SUMMARY_H_
