// Sets of intervals of time, for the presence of two series together.

#ifndef FLEETPERF_AGGREGATOR_QUERY_INTERVAL_SET_H_
#define FLEETPERF_AGGREGATOR_QUERY_INTERVAL_SET_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "perflib/clocks.h"

namespace fleetperf::aggregator {

// Intervals of time, each of which belongs to one window. Thread-compatible.
class IntervalSet {
 public:
  // Adds the interval between two ticks by their time of day.
  void Add(int64_t window, const perflib::Clocks& older,
           const perflib::Clocks& newer);

  void Add(const IntervalSet& other);

  // The number of intervals in memory: adjacent ones are joined.
  size_t size() const { return intervals_.size(); }

  // Returns the times in both sets and the same windows.
  IntervalSet And(const IntervalSet& other) const;
  // Returns the times that are not in `other`, in the same windows.
  IntervalSet Without(const IntervalSet& other) const;

  // Returns the length of the intervals in a window, or in all windows, in
  // units of 100 ns.
  int64_t LengthIn(int64_t window) const;
  int64_t Length() const;

 private:
  struct Interval {
    int64_t window = 0;
    int64_t start = 0;  // like PerfTime100NSec
    int64_t end = 0;

    auto operator<=>(const Interval&) const = default;
  };

  // Returns the intervals in order, without overlaps, which a clock that is set
  // back causes.
  std::vector<Interval> Sorted() const;

  std::vector<Interval> intervals_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_QUERY_INTERVAL_SET_H_
