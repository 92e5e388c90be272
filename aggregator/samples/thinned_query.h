// The representation of thinned data: frames with one tick per minute or hour,
// at the last sample of that time. Besides the raw values at the tick,
// additional columns summarize all samples since the previous tick.

#ifndef FLEETPERF_AGGREGATOR_SAMPLES_THINNED_QUERY_H_
#define FLEETPERF_AGGREGATOR_SAMPLES_THINNED_QUERY_H_

#include <array>
#include <cstdint>

#include "absl/time/time.h"
#include "aggregator/samples/frame.h"
#include "values/counter_formula.h"
#include "values/formula.h"
#include "values/summary.h"

namespace fleetperf::aggregator {

// Returns the query of data thinned to one tick per `interval`: all columns of
// `query`, and one column of each other role that the formula has for each
// counter that is not only collected for another column. The columns of thinned
// data stay as they are.
CollectedQuery ThinnedQuery(const CollectedQuery& query,
                            absl::Duration interval);

// Returns whether the thinned data of a formula has columns of a role.
bool HasRole(const CounterFormula& formula, ColumnRole role);

// A summary as the numbers in its columns, by role; kRaw is not used. `older`
// and `newer` are the samples at the previous tick, if the run has one, and at
// the summary's tick. The encoding makes most numbers 0, or the same from tick
// to tick:
//   kGrowth             growth, less the counter's growth from `older` to
//                       `newer`; or the sum of samples less `pieces` times
//                       the newer one
//   kDenominator        likewise, less the growth of its counter or clock
//   kGrowthHigh, kDenominatorHigh
//                       the upper halves of the sums
//   kSmallest, kLargest growth of pieces; or `newer` less the sample
//   kSmallestDenominator, kLargestDenominator
//                       likewise; for clocks, less the collection interval
//   kPieces, kBreaks    counts
//   kWithoutValue       pieces less values
//   kProblem            status, plus cause times 256, plus 65536 if there is
//                       no `older`: later, the tick may follow another one;
//                       plus 131072 for Summary::has_fallen
//   kCovered            nanoseconds, less those between the samples
//   kSum                for raw fractions only: the bits of the sum of values,
//                       less those of the sum for a constant base
//   kSumRest, kSumRestOfRest
//                       likewise: the bits of the other parts of the sum
//                       (ExactSum::Split)
// All differences are modulo 2^64. The other roles are not part of a summary's
// own numbers:
//   kAbsent             nanoseconds of the tick intervals since the previous
//                       tick in which the life was not there
//   kOwnBreaks          nanoseconds of those with breaks of its own
using SummaryNumbers = std::array<uint64_t, kColumnRoles>;

// Encodes and decodes Summary::there. `intervals` are the nanoseconds of all
// tick intervals since the previous tick.
void EncodeThere(const TimeThere& there, int64_t intervals,
                 SummaryNumbers* numbers);
TimeThere DecodeThere(const SummaryNumbers& numbers, int64_t intervals);

SummaryNumbers EncodeSummary(const CounterFormula& formula,
                             const Summary& summary, const RawSample* older,
                             const RawSample& newer,
                             absl::Duration thinned_from);
// Returns Summary::has_fallen from the number in the column kProblem.
bool HasFallen(uint64_t problem);
// Changes the numbers of a tick with an `older` sample to those that it has
// without one.
void RemoveOlder(const CounterFormula& formula, const RawSample& older,
                 const RawSample& newer, SummaryNumbers* numbers);
// If not `has_extremes`, their numbers are unknown, and they stay empty.
// `start` is estimated: the tick's time less `covered`, as if the pieces ended
// there.
Summary DecodeSummary(const CounterFormula& formula,
                      const SummaryNumbers& numbers, const RawSample* older,
                      const RawSample& newer, absl::Duration thinned_from,
                      bool has_extremes = true);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SAMPLES_THINNED_QUERY_H_
