// How thinned data are kept: a frame with a tick for each minute or hour, at
// the last of its samples. Beside the raw values at the tick, columns say what
// the samples since the tick before come to.

#ifndef FLEETPERF_AGGREGATOR_SAMPLES_THINNED_QUERY_H_
#define FLEETPERF_AGGREGATOR_SAMPLES_THINNED_QUERY_H_

#include <array>
#include <cstdint>

#include "absl/time/time.h"
#include "aggregator/formula/counter_formula.h"
#include "aggregator/formula/formula.h"
#include "aggregator/formula/summary.h"
#include "aggregator/samples/frame.h"

namespace fleetperf::aggregator {

// What is left of a query whose data are thinned to one tick in `interval`: all
// of its columns, and for each counter that it collects for itself one of each
// other role. The columns of data that are thinned already stay as they are.
CollectedQuery ThinnedQuery(const CollectedQuery& query,
                            absl::Duration interval);

// A summary as the numbers in its columns, by role; that of kRaw is not used.
// `older` and `newer` are the samples at the tick before, if there is one in
// the run, and at its own. Most numbers are 0, or the same from tick to tick:
//   kGrowth             less what the counter grew by from `older` to `newer`;
//                       or the sum of samples less `pieces` times the newer
//   kDenominator        likewise, less what its counter or clock grew by
//   kGrowthHigh, kDenominatorHigh
//                       the upper halves of the sums
//   kSmallest, kLargest growth of pieces; or how far samples are below `newer`
//   kSmallestDenominator, kLargestDenominator
//                       likewise; of clocks, less the interval of collection
//   kPieces, kBreaks    how many
//   kWithoutValue       pieces less values
//   kProblem            its status, its cause times 256, and 65536 if there is
//                       no `older`: later the tick may stand behind one
//   kCovered            ticks of PerfTimeStamp less those between the samples;
//                       of raw fractions, the bits of their values' sum less
//                       those of what it would be had the base not changed
// All differences are modulo 2^64.
using SummaryNumbers = std::array<uint64_t, kColumnRoles>;

SummaryNumbers EncodeSummary(const CounterFormula& formula,
                             const Summary& summary, const RawSample* older,
                             const RawSample& newer,
                             absl::Duration thinned_from);
Summary DecodeSummary(const CounterFormula& formula,
                      const SummaryNumbers& numbers, const RawSample* older,
                      const RawSample& newer, absl::Duration thinned_from);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SAMPLES_THINNED_QUERY_H_
