// The growth of a series between ticks of a run.

#ifndef FLEETPERF_AGGREGATOR_SAMPLES_RUN_GROWTH_H_
#define FLEETPERF_AGGREGATOR_SAMPLES_RUN_GROWTH_H_

#include <cstdint>
#include <optional>

#include "absl/types/span.h"
#include "aggregator/samples/series_run.h"
#include "values/counter_formula.h"
#include "values/formula.h"

namespace fleetperf::aggregator {

// The growth between ticks of a run whose values never decrease, for formulas
// that use two samples and not M. The run must outlive the object.
class RunGrowth {
 public:
  // Of the ticks from `first` to before `end`. Returns std::nullopt if a value
  // is missing in the run, or decreases between these ticks.
  static std::optional<RunGrowth> Of(const CounterFormula& formula,
                                     const SeriesRun& run, uint32_t first,
                                     uint32_t end);

  // Sets `growth` to that of GrowthBetween for the samples of two ticks, if the
  // clocks have no break between them. Returns false if there is no growth.
  bool Between(uint32_t older, uint32_t newer, Growth* growth) const;

 private:
  RunGrowth(const CounterFormula& formula, const SeriesRun& run)
      : formula_(formula), run_(run) {}

  const CounterFormula& formula_;
  const SeriesRun& run_;
  // A single value if all are equal.
  absl::Span<const uint64_t> values_;
  absl::Span<const uint64_t> denominators_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SAMPLES_RUN_GROWTH_H_
