#include "aggregator/query/window_grid.h"

#include <algorithm>
#include <optional>

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

StretchTable::StretchTable(const WindowGrid& grid)
    : start_(perflib::PerfTime100NSecFromTime(grid.start)),
      end_(perflib::PerfTime100NSecFromTime(grid.end)),
      length_(grid.step == absl::ZeroDuration()
                  ? UINT64_MAX
                  : static_cast<uint64_t>(absl::ToInt64Nanoseconds(grid.step) /
                                          100)) {}

const std::vector<Stretch>& StretchTable::Of(const SeriesRun& run) {
  if (tables_.size() > kMostTables) tables_.clear();
  const auto [entry, is_new] =
      tables_.try_emplace({run.all_clocks(), run.interval()});
  if (is_new) entry->second = Divide(*run.all_clocks(), run.interval());
  return entry->second;
}

// One that begins at this time.
Stretch StretchTable::Begin(int64_t time) const {
  if (time <= start_) return {.is_before = true};
  const uint64_t since =
      static_cast<uint64_t>(time) - static_cast<uint64_t>(start_);
  return {.window = static_cast<int64_t>((since - 1) / length_ + 1),
          .is_behind = time > end_};
}

// The last time that a tick of the stretch can have.
int64_t StretchTable::EndOf(const Stretch& stretch) const {
  if (stretch.is_behind) return INT64_MAX;
  if (stretch.is_before) return start_;
  const uint64_t window = static_cast<uint64_t>(stretch.window);
  const uint64_t rest =
      static_cast<uint64_t>(end_) - static_cast<uint64_t>(start_);
  if (window > rest / length_) return end_;
  return static_cast<int64_t>(static_cast<uint64_t>(start_) + window * length_);
}

std::vector<Stretch> StretchTable::Divide(
    absl::Span<const perflib::Clocks> clocks, absl::Duration interval) const {
  const ClockCheck check(interval);
  std::vector<Stretch> stretches;
  // From the tick before; negative: something is wrong. This loop is the
  // longest of a query, and an optional in it takes three times as long.
  int64_t length = -1;
  for (uint32_t tick = 0; tick < clocks.size();) {
    Stretch stretch = Begin(clocks[tick].perf_time_100nsec);
    const int64_t end = EndOf(stretch);
    stretch.first = tick;
    if (length >= 0) stretch.link = length;
    int64_t longest = 0;
    // Time does not go back within a stretch.
    for (++tick; tick < clocks.size(); ++tick) {
      length = check.SoundLength(clocks[tick - 1], clocks[tick]).value_or(-1);
      if (length < 0 || clocks[tick].perf_time_100nsec > end) break;
      longest = std::max(longest, length);
    }
    stretch.last = tick - 1;
    stretch.longest = longest;
    stretches.push_back(stretch);
  }
  return stretches;
}

}  // namespace fleetperf::aggregator
