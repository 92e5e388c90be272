// Properties of several ticks of a run together.

#ifndef FLEETPERF_AGGREGATOR_QUERY_RUN_TICKS_H_
#define FLEETPERF_AGGREGATOR_QUERY_RUN_TICKS_H_

#include <cstdint>
#include <optional>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "aggregator/query/window_grid.h"
#include "aggregator/samples/frame.h"
#include "aggregator/samples/series_run.h"
#include "values/counter_formula.h"
#include "values/summary.h"
#include "values/window.h"

namespace fleetperf::aggregator {

// The growth between ticks of a run whose values never decrease, for formulas
// that use two samples and not M. The run must outlive the object.
class RunGrowth {
 public:
  // Returns std::nullopt if a value is missing or decreases.
  static std::optional<RunGrowth> Of(const CounterFormula& formula,
                                     const SeriesRun& run);

  // Returns what GrowthBetween does for the samples of two ticks, if the clocks
  // have no break between them. std::nullopt if there is no growth.
  std::optional<Growth> Between(uint32_t older, uint32_t newer) const;

 private:
  RunGrowth(const CounterFormula& formula, const SeriesRun& run)
      : formula_(formula), run_(run) {}

  const CounterFormula& formula_;
  const SeriesRun& run_;
  // A single value if all are equal.
  absl::Span<const uint64_t> values_;
  absl::Span<const uint64_t> denominators_;
};

// Returns the longest of the pieces that end in the run's ticks in the stretch.
absl::Duration LongestPiece(const SeriesRun& run, const Stretch& stretch,
                            uint32_t first, uint32_t end);

// Thinned data cover one life each. Detects the start of another life, unless
// it is born.
Summary WithNewLife(const CounterFormula& formula,
                    const std::optional<RawSample>& older,
                    const RawSample& newer, bool is_born,
                    const Summary& of_life);

// Returns the sum of `count` equal raw values, or of `values`. If `total` is
// not null, it stands for the last value.
Summary SummarizeRaw(const CounterFormula& formula, Over over,
                     absl::Span<const uint64_t> values, uint64_t count,
                     const FrameColumn::Total* total);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_QUERY_RUN_TICKS_H_
