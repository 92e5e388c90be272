// The samples of one series in a run of a frame, and their summaries in thinned
// data.

#ifndef FLEETPERF_AGGREGATOR_SAMPLES_SERIES_RUN_H_
#define FLEETPERF_AGGREGATOR_SAMPLES_SERIES_RUN_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "aggregator/samples/frame.h"
#include "values/counter_formula.h"
#include "values/formula.h"
#include "values/summary.h"

namespace fleetperf::aggregator {

// The columns of a query that a formula reads, by number.
struct SeriesColumns {
  size_t value = 0;
  std::optional<size_t> denominator;
  std::optional<size_t> frequency;
  std::optional<size_t> multi;
  // The denominator and the frequency are the block's clocks.
  bool uses_block_clocks = false;
  // The columns of thinned data, by role; those of extremes may be missing.
  std::optional<std::array<std::optional<size_t>, kColumnRoles>> thinned;

  // Whether summaries of thinned data have their extremes.
  bool has_extremes() const;
  // Returns the numbers of all these columns.
  std::vector<size_t> Numbers() const;
};

// Returns std::nullopt if the query does not collect the formula's counter, or
// only for another column. `needs_extremes`: of thinned data.
std::optional<SeriesColumns> FindSeriesColumns(const CollectedQuery& query,
                                               const CounterFormula& formula,
                                               bool needs_extremes = true);

// A view of a series in a run. The frame and columns must outlive the view.
// Thread-compatible.
class SeriesRun {
 public:
  SeriesRun(const Frame& frame, size_t run, const SeriesColumns& columns)
      : frame_(frame), columns_(columns), number_(run), run_(frame.runs[run]) {}

  absl::Duration interval() const { return frame_.query->interval; }
  // The interval at which samples were collected, even if they are thinned.
  absl::Duration collection_interval() const {
    return is_thinned() ? frame_.query->thinned_from : interval();
  }
  bool is_thinned() const { return frame_.query->is_thinned(); }
  uint64_t life() const { return run_.instance->life; }
  bool is_born() const { return run_.instance->is_born; }
  // The frame's tick of the run's first sample. Other ticks are relative to it.
  uint32_t first_tick() const { return run_.first_tick; }
  uint32_t ticks() const { return run_.tick_count; }
  // The number of samples from one tick to before another. The last tick of a
  // folded frame stands for several.
  uint64_t SamplesIn(uint32_t first, uint32_t end) const {
    const bool has_folded = frame_.fold.has_value() && end == ticks();
    return end - first + (has_folded ? frame_.fold->ticks - 1 : 0);
  }
  // The sum and extremes of the samples for which the last tick of a folded
  // frame stands. Null if the frame is not folded, or the values are constant.
  const FrameColumn::Total* FoldedTotal() const {
    const FrameColumn& column = frame_.columns[columns_.value];
    return column.totals.empty() ? nullptr : &column.totals[number_];
  }
  const perflib::Clocks& clocks(uint32_t tick) const {
    return (*frame_.clocks)[run_.first_tick + tick];
  }

  RawSample Sample(uint32_t tick) const;

  // Whether Summary::has_fallen at a tick of thinned data.
  bool HasFallen(uint32_t tick) const;

  // The values of the counter and of the denominator counter for all ticks.
  // std::nullopt if one is missing. A single value if all are equal, or if
  // there is no such counter.
  std::optional<absl::Span<const uint64_t>> Values() const;
  std::optional<absl::Span<const uint64_t>> Denominators() const;

  // Returns, for thinned data, the summaries of the samples after the previous
  // tick up to each tick. The sample at a tick has no value if the formula uses
  // two samples and the last sample of the series was before the tick. The
  // extremes of the summaries are unknown unless the columns have them.
  std::vector<Summary> Summaries(const CounterFormula& formula) const;

 private:
  RawValue Read(size_t column, uint32_t tick) const;
  std::optional<absl::Span<const uint64_t>> AllOf(size_t column) const;

  const Frame& frame_;
  const SeriesColumns& columns_;
  const size_t number_;
  const Frame::Run& run_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SAMPLES_SERIES_RUN_H_
