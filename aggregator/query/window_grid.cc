#include "aggregator/query/window_grid.h"

#include <algorithm>

#include "aggregator/formula/piece.h"

namespace fleetperf::aggregator {
namespace {

// Frames that are divided at a time: those that are read one after the other
// are mostly of the same message or chunk.
constexpr size_t kMostTables = 16;

}  // namespace

int64_t WindowGrid::count() const {
  if (end <= start) return 0;
  absl::Duration rest;
  return absl::IDivDuration(end - start, length(), &rest);
}

int64_t WindowGrid::WindowOf(absl::Time time) const {
  if (time <= start) return 0;
  absl::Duration rest;
  const int64_t whole = absl::IDivDuration(time - start, length(), &rest);
  return rest > absl::ZeroDuration() ? whole + 1 : whole;
}

const std::vector<Stretch>& StretchTable::Of(const SeriesRun& run) {
  if (tables_.size() > kMostTables) tables_.clear();
  const auto [entry, is_new] =
      tables_.try_emplace({run.all_clocks(), run.interval()});
  if (is_new) entry->second = Divide(*run.all_clocks(), run.interval());
  return entry->second;
}

std::vector<Stretch> StretchTable::Divide(
    const std::vector<perflib::Clocks>& clocks, absl::Duration interval) const {
  std::vector<Stretch> stretches;
  for (uint32_t tick = 0; tick < clocks.size(); ++tick) {
    const absl::Time time =
        perflib::TimeFromPerfTime100NSec(clocks[tick].perf_time_100nsec);
    const bool is_linked =
        tick > 0 && IsSound(clocks[tick - 1], clocks[tick], interval);
    const absl::Duration length =
        is_linked ? ClockLength(clocks[tick - 1], clocks[tick])
                  : absl::ZeroDuration();
    const bool is_behind = time > grid_.end;
    const int64_t window = grid_.WindowOf(time);
    if (is_linked && stretches.back().window == window &&
        stretches.back().is_behind == is_behind) {
      stretches.back().last = tick;
      stretches.back().longest = std::max(stretches.back().longest, length);
      continue;
    }
    stretches.push_back({.first = tick,
                         .last = tick,
                         .window = window,
                         .is_before = time <= grid_.start,
                         .is_behind = is_behind,
                         .is_linked = is_linked,
                         .longest = length});
  }
  return stretches;
}

}  // namespace fleetperf::aggregator
