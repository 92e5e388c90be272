#include "aggregator/query/interval_set.h"

#include <algorithm>

namespace fleetperf::aggregator {

void IntervalSet::Add(int64_t window, const perflib::Clocks& older,
                      const perflib::Clocks& newer) {
  const Interval interval = {window, older.perf_time_100nsec,
                             newer.perf_time_100nsec};
  if (interval.end <= interval.start) return;
  if (!intervals_.empty() && intervals_.back().window == window &&
      intervals_.back().end == interval.start) {
    intervals_.back().end = interval.end;
  } else {
    intervals_.push_back(interval);
  }
}

void IntervalSet::Add(const IntervalSet& other) {
  intervals_.insert(intervals_.end(), other.intervals_.begin(),
                    other.intervals_.end());
}

std::vector<IntervalSet::Interval> IntervalSet::Sorted() const {
  std::vector<Interval> intervals = intervals_;
  std::sort(intervals.begin(), intervals.end());
  std::vector<Interval> joined;
  for (const Interval& interval : intervals) {
    if (!joined.empty() && joined.back().window == interval.window &&
        joined.back().end >= interval.start) {
      joined.back().end = std::max(joined.back().end, interval.end);
    } else {
      joined.push_back(interval);
    }
  }
  return joined;
}

IntervalSet IntervalSet::And(const IntervalSet& other) const {
  const std::vector<Interval> left = Sorted();
  const std::vector<Interval> right = other.Sorted();
  IntervalSet both;
  for (auto a = left.begin(), b = right.begin();
       a != left.end() && b != right.end();) {
    if (a->window == b->window) {
      const int64_t start = std::max(a->start, b->start);
      const int64_t end = std::min(a->end, b->end);
      if (start < end) both.intervals_.push_back({a->window, start, end});
    }
    // The interval that ends first meets no other one.
    const bool left_is_first =
        a->window != b->window ? a->window < b->window : a->end < b->end;
    ++(left_is_first ? a : b);
  }
  return both;
}

IntervalSet IntervalSet::Without(const IntervalSet& other) const {
  const std::vector<Interval> others = other.Sorted();
  IntervalSet rest;
  auto next = others.begin();
  for (Interval interval : Sorted()) {
    while (next != others.end() &&
           (next->window < interval.window ||
            (next->window == interval.window && next->end <= interval.start))) {
      ++next;
    }
    for (auto at = next; at != others.end() && at->window == interval.window &&
                         at->start < interval.end;
         ++at) {
      if (interval.start < at->start) {
        rest.intervals_.push_back({interval.window, interval.start, at->start});
      }
      interval.start = std::max(interval.start, at->end);
    }
    if (interval.start < interval.end) rest.intervals_.push_back(interval);
  }
  return rest;
}

int64_t IntervalSet::LengthIn(int64_t window) const {
  int64_t length = 0;
  auto at = std::partition_point(
      intervals_.begin(), intervals_.end(),
      [&](const Interval& interval) { return interval.window < window; });
  for (; at != intervals_.end() && at->window == window; ++at) {
    length += at->end - at->start;
  }
  return length;
}

int64_t IntervalSet::Length() const {
  int64_t length = 0;
  for (const Interval& interval : intervals_) {
    length += interval.end - interval.start;
  }
  return length;
}

}  // namespace fleetperf::aggregator
