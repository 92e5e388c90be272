// The tick intervals of a machine in the windows of a query. The time of all of
// a query's tick intervals in a window, less that in which a series was there,
// is the time in which the series was absent.

#ifndef FLEETPERF_AGGREGATOR_QUERY_TICK_INTERVALS_H_
#define FLEETPERF_AGGREGATOR_QUERY_TICK_INTERVALS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "aggregator/query/interval_set.h"
#include "aggregator/query/window_grid.h"
#include "aggregator/samples/frame.h"
#include "aggregator/samples/walker.h"

namespace fleetperf::aggregator {

// The nanoseconds of the tick intervals in each window. Thread-compatible.
class IntervalTimes {
 public:
  void Add(int64_t window, int64_t nanos);
  void Add(const IntervalTimes& other);

  int64_t Of(int64_t window) const;
  int64_t total() const { return total_; }

 private:
  std::vector<std::pair<int64_t, int64_t>> windows_;  // by window
  int64_t total_ = 0;
};

// Thread-compatible.
class TickIntervals {
 public:
  // `keeps_sets`: whether SetOf is needed.
  explicit TickIntervals(const WindowGrid& grid, bool keeps_sets = false);

  // Adds a frame with at least one tick. The frames of an epoch must arrive in
  // order.
  void Add(const Frame& frame);

  // See StretchTable::AreTogether.
  bool AreTogether(int64_t first, int64_t last) const {
    return stretch_table_.AreTogether(first, last);
  }

  // Walks through the last frame.
  const Walker& walker() const { return walker_; }
  const std::vector<Stretch>& stretches() const { return *stretches_; }

  // Returns the times of all queries that collect a counter, for a series with
  // samples in `queries` (Walker::query): queries at the same time are of
  // other instances, and do not count. Must be called after the last frame.
  // Valid as long as this object.
  const IntervalTimes& TimesOf(const Schema& schema, uint32_t counter_id,
                               const std::vector<size_t>& queries);
  // Returns the tick intervals of a counter. std::nullopt if some of its data
  // is thinned, and their times are unknown.
  std::optional<IntervalSet> SetOf(const Schema& schema,
                                   uint32_t counter_id) const;

 private:
  void AddStretches();
  void AddTicks(const Frame& frame);
  void AddSet(const Frame& frame);
  IntervalTimes& TimesOfQuery();

  const WindowGrid grid_;
  StretchTable stretch_table_;
  Walker walker_;
  const std::vector<Stretch>* stretches_ = nullptr;
  const bool keeps_sets_;
  std::vector<IntervalTimes> times_;              // by query
  std::vector<std::optional<IntervalSet>> sets_;  // by query
  // By the queries that count.
  std::map<std::vector<size_t>, IntervalTimes> of_queries_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_QUERY_TICK_INTERVALS_H_
