#include "aggregator/query/tick_intervals.h"

#include <algorithm>

#include "perflib/clocks.h"

namespace fleetperf::aggregator {
namespace {

bool IsBefore(const std::pair<int64_t, int64_t>& time, int64_t window) {
  return time.first < window;
}

}  // namespace

void IntervalTimes::Add(int64_t window, int64_t nanos) {
  if (nanos == 0) return;
  total_ += nanos;
  // Nearly always the last window or the next one.
  if (windows_.empty() || windows_.back().first < window) {
    windows_.emplace_back(window, nanos);
    return;
  }
  auto at =
      std::lower_bound(windows_.begin(), windows_.end(), window, IsBefore);
  if (at->first != window) at = windows_.insert(at, {window, 0});
  at->second += nanos;
}

void IntervalTimes::Add(const IntervalTimes& other) {
  if (windows_.empty()) {
    *this = other;
    return;
  }
  for (const auto& [window, nanos] : other.windows_) Add(window, nanos);
}

int64_t IntervalTimes::Of(int64_t window) const {
  // Mostly, no window is missing between others.
  if (!windows_.empty() && window >= windows_.front().first) {
    const auto place = static_cast<size_t>(window - windows_.front().first);
    if (place < windows_.size() && windows_[place].first == window) {
      return windows_[place].second;
    }
  }
  const auto at =
      std::lower_bound(windows_.begin(), windows_.end(), window, IsBefore);
  return at != windows_.end() && at->first == window ? at->second : 0;
}

TickIntervals::TickIntervals(const WindowGrid& grid, bool keeps_sets)
    : grid_(grid),
      stretch_table_(grid),
      walker_(grid.start, grid.end),
      keeps_sets_(keeps_sets) {}

void TickIntervals::Add(const Frame& frame) {
  const DividedTicks& divided = stretch_table_.Of(frame);
  stretches_ = &divided.stretches;
  walker_.BeginFrame(frame, &divided.lengths);
  times_.resize(walker_.queries());
  if (keeps_sets_) AddSet(frame);
  const bool any_behind =
      std::any_of(stretches_->begin(), stretches_->end(),
                  [](const Stretch& stretch) { return stretch.is_behind; });
  if (frame.query->is_thinned() || !frame.failures.empty() || any_behind) {
    AddTicks(frame);
  } else {
    AddStretches();
  }
}

const IntervalTimes& TickIntervals::TimesOf(
    const Schema& schema, uint32_t counter_id,
    const std::vector<size_t>& queries) {
  std::vector<size_t> counting = queries;
  for (size_t query = 0; query < times_.size(); ++query) {
    const auto is_instead = [&](size_t other) {
      return other == query || walker_.AreConcurrent(other, query);
    };
    if (std::none_of(counting.begin(), counting.end(), is_instead) &&
        walker_.Collects(query, schema, counter_id)) {
      counting.push_back(query);
    }
  }
  const auto [entry, is_new] = of_queries_.try_emplace(std::move(counting));
  if (!is_new) return entry->second;
  for (const size_t query : entry->first) entry->second.Add(times_[query]);
  return entry->second;
}

void TickIntervals::AddSet(const Frame& frame) {
  sets_.resize(walker_.queries(), IntervalSet());
  std::optional<IntervalSet>& set = sets_[walker_.query()];
  if (frame.query->is_thinned()) set.reset();
  if (!set.has_value()) return;
  for (uint32_t tick = 0; tick < frame.clocks->size(); ++tick) {
    const perflib::Clocks& clocks = (*frame.clocks)[tick];
    const absl::Time time = perflib::TimeOf(clocks);
    const TickInterval interval = walker_.IntervalTo(tick);
    if (time <= grid_.start || interval.length == 0) continue;
    set->Add(grid_.WindowOf(time), *interval.start, clocks);
  }
}

std::optional<IntervalSet> TickIntervals::SetOf(const Schema& schema,
                                                uint32_t counter_id) const {
  IntervalSet all;
  for (size_t query = 0; query < sets_.size(); ++query) {
    if (!walker_.Collects(query, schema, counter_id)) continue;
    if (!sets_[query].has_value()) return std::nullopt;
    all.Add(*sets_[query]);
  }
  return all;
}

IntervalTimes& TickIntervals::TimesOfQuery() { return times_[walker_.query()]; }

// The intervals of a stretch are all in one window.
void TickIntervals::AddStretches() {
  for (const Stretch& stretch : *stretches_) {
    if (stretch.is_before) continue;
    TimesOfQuery().Add(stretch.window,
                       walker_.LengthTo(stretch.first) + stretch.length);
  }
}

void TickIntervals::AddTicks(const Frame& frame) {
  for (uint32_t tick = 0; tick < frame.clocks->size(); ++tick) {
    const absl::Time time = perflib::TimeOf((*frame.clocks)[tick]);
    if (time <= grid_.start || time > grid_.end) continue;
    TimesOfQuery().Add(grid_.WindowOf(time), walker_.LengthTo(tick));
  }
}

}  // namespace fleetperf::aggregator
