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

// The last time that a tick of the stretch can have.
int64_t StretchTable::LastTickOf(const Stretch& stretch) const {
  if (stretch.is_behind) return INT64_MAX;
  const absl::Time end = stretch.is_before
                             ? grid_.start
                             : std::min(grid_.end, grid_.EndOf(stretch.window));
  return perflib::PerfTime100NSecFromTime(end);
}

std::vector<Stretch> StretchTable::Divide(
    const std::vector<perflib::Clocks>& clocks, absl::Duration interval) const {
  std::vector<Stretch> stretches;
  int64_t window_end = 0;  // of the last stretch
  for (uint32_t tick = 0; tick < clocks.size(); ++tick) {
    const perflib::Clocks& clock = clocks[tick];
    const bool is_linked =
        tick > 0 && IsSound(clocks[tick - 1], clock, interval);
    const absl::Duration length =
        is_linked ? ClockLength(clocks[tick - 1], clock) : absl::ZeroDuration();
    // Time does not go back within a stretch.
    if (is_linked && clock.perf_time_100nsec <= window_end) {
      stretches.back().last = tick;
      stretches.back().longest = std::max(stretches.back().longest, length);
      continue;
    }
    const absl::Time time =
        perflib::TimeFromPerfTime100NSec(clock.perf_time_100nsec);
    Stretch& stretch = stretches.emplace_back();
    stretch = {.first = tick,
               .last = tick,
               .window = grid_.WindowOf(time),
               .is_before = time <= grid_.start,
               .is_behind = time > grid_.end,
               .is_linked = is_linked,
               .longest = length};
    window_end = LastTickOf(stretch);
  }
  return stretches;
}

}  // namespace fleetperf::aggregator
