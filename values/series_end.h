// The newest sample of a series, and the rule of a counter's fall and return.
//
// A source that cannot read a counter for a moment may give 0, and the true
// value again in the next tick. The growth from 0 to that value would be all
// that the counter has ever counted. So a counter that fell, and then grows for
// the first time to the value before the fall or above it, returned: the piece
// is a break, as the fall is. A counter that restarted from 0 grows to less.
//
//   value     1000  1010     0  1030  1040      1000  1010     5    25    45
//   growth         +10  fall  return   +10           +10  fall   +20   +20
//
// After kMaxIntervalsToReturn, or after a break of another kind, a counter
// cannot return.

#ifndef FLEETPERF_VALUES_SERIES_END_H_
#define FLEETPERF_VALUES_SERIES_END_H_

#include <cstdint>
#include <optional>

#include "absl/time/time.h"
#include "values/counter_formula.h"
#include "values/formula.h"
#include "values/summary.h"

namespace fleetperf {

// Thread-compatible.
class SeriesEnd {
 public:
  // Returns the piece to the next sample, of this collection interval;
  // std::nullopt if it is the first sample, or if the formula uses one sample.
  // Must be followed by MoveTo.
  std::optional<Piece> PieceTo(const CounterFormula& formula,
                               const RawSample& sample,
                               absl::Duration interval);
  // Makes that sample the newest one.
  void MoveTo(const RawSample& sample) { sample_ = sample; }

  // Begins at a sample without a piece to it. `has_fallen`: the counters fell
  // from unknown values; their next growth counts as a return.
  void Set(const RawSample& sample, bool has_fallen = false);

  // Returns the newest sample, if any.
  const std::optional<RawSample>& sample() const { return sample_; }

  // Whether a counter fell, so that the next samples may be a return.
  bool has_fallen() const { return value_.from != 0 || denominator_.from != 0; }

 private:
  struct Fall {
    uint64_t from = 0;   // the value before the fall; 0: no fall
    absl::Duration age;  // since the sample with this value

    bool Follow(const RawValue& older, const RawValue& newer, bool may_wrap,
                absl::Duration length, absl::Duration interval);
  };

  void FollowFalls(const RawSample& sample, absl::Duration interval,
                   Piece* piece);

  std::optional<RawSample> sample_;
  Fall value_;
  Fall denominator_;
};

}  // namespace fleetperf

#endif  // FLEETPERF_VALUES_SERIES_END_H_
