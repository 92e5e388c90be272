// The samples of one series in a run of a frame, and in thinned data what is
// left of them.

#ifndef FLEETPERF_AGGREGATOR_SAMPLES_SERIES_RUN_H_
#define FLEETPERF_AGGREGATOR_SAMPLES_SERIES_RUN_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "aggregator/formula/counter_formula.h"
#include "aggregator/formula/formula.h"
#include "aggregator/formula/summary.h"
#include "aggregator/samples/frame.h"

namespace fleetperf::aggregator {

// Where a formula finds its values among the columns of a query, by number.
struct SeriesColumns {
  size_t value = 0;
  std::optional<size_t> denominator;
  std::optional<size_t> frequency;
  std::optional<size_t> multi;
  // In thinned data, by role.
  std::optional<std::array<size_t, kColumnRoles>> thinned;

  // All of them.
  std::vector<size_t> Numbers() const;
};

// Nothing if the query does not collect the formula's counter for itself.
std::optional<SeriesColumns> FindSeriesColumns(const CollectedQuery& query,
                                               const CounterFormula& formula);

// What it points at outlives it. Thread-compatible.
class SeriesRun {
 public:
  SeriesRun(const Frame& frame, size_t run, const SeriesColumns& columns)
      : frame_(frame), columns_(columns), number_(run), run_(frame.runs[run]) {}

  absl::Duration interval() const { return frame_.query->interval; }
  // At which samples were collected, also if they are thinned.
  absl::Duration collection_interval() const {
    return is_thinned() ? frame_.query->thinned_from : interval();
  }
  bool is_thinned() const { return frame_.query->is_thinned(); }
  uint64_t life() const { return run_.instance->life; }
  // Ticks of the run are counted from its first, which is this one of all.
  uint32_t first_tick() const { return run_.first_tick; }
  uint32_t ticks() const { return run_.tick_count; }
  const perflib::Clocks& clocks(uint32_t tick) const {
    return (*frame_.clocks)[run_.first_tick + tick];
  }
  // Of all ticks of the frame.
  const std::shared_ptr<const std::vector<perflib::Clocks>>& all_clocks()
      const {
    return frame_.clocks;
  }

  RawSample Sample(uint32_t tick) const;

  // The values of the counter, and of the denominator's, of all ticks. Nothing
  // if one is missing; a single one if they are all the same, or there is no
  // such counter.
  std::optional<absl::Span<const uint64_t>> Values() const;
  std::optional<absl::Span<const uint64_t>> Denominators() const;

  // In thinned data: what is left of the samples from the tick before to this
  // one. The sample at a tick has no value if the formula uses two samples and
  // the series' last was before it.
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
