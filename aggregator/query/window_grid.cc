#include "aggregator/query/window_grid.h"

#include <algorithm>
#include <optional>

#include "values/clock_check.h"

namespace fleetperf::aggregator {
namespace {

// Returns the time from the first to the last tick; 0 if it is negative.
uint64_t TimeBetween(absl::Span<const perflib::Clocks> clocks) {
  const int64_t first = clocks.front().perf_time_100nsec;
  const int64_t last = clocks.back().perf_time_100nsec;
  if (last < first) return 0;
  return static_cast<uint64_t>(last) - static_cast<uint64_t>(first);
}

// The limit of divided frames in memory. Consecutive frames mostly belong to
// the same message or chunk.
constexpr size_t kMaxTables = 16;

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

const DividedTicks& StretchTable::Of(const Frame& frame) {
  if (tables_.size() > kMaxTables) tables_.clear();
  const absl::Duration interval = frame.query->interval;
  const auto [entry, is_new] = tables_.try_emplace({frame.clocks, interval});
  if (is_new) {
    entry->second = frame.fold.has_value()
                        ? DivideFolded(*frame.clocks, *frame.fold)
                        : Divide(*frame.clocks, interval);
  }
  return entry->second;
}

bool StretchTable::AreTogether(int64_t first, int64_t last) const {
  const Stretch stretch = Begin(first);
  return !stretch.is_behind && last <= EndOf(stretch);
}

// Returns a stretch that begins at `time`.
Stretch StretchTable::Begin(int64_t time) const {
  if (time <= start_) return {.is_before = true};
  const uint64_t since =
      static_cast<uint64_t>(time) - static_cast<uint64_t>(start_);
  return {.window = static_cast<int64_t>((since - 1) / length_ + 1),
          .is_behind = time > end_};
}

// Returns the end of the stretch's window.
int64_t StretchTable::EndOf(const Stretch& stretch) const {
  if (stretch.is_behind) return INT64_MAX;
  if (stretch.is_before) return start_;
  const uint64_t window = static_cast<uint64_t>(stretch.window);
  const uint64_t rest =
      static_cast<uint64_t>(end_) - static_cast<uint64_t>(start_);
  if (window > rest / length_) return end_;
  return static_cast<int64_t>(static_cast<uint64_t>(start_) + window * length_);
}

DividedTicks StretchTable::DivideFolded(absl::Span<const perflib::Clocks> ends,
                                        const Frame::Fold& fold) const {
  DividedTicks ticks = {.lengths = {0, fold.length}};
  Stretch first = Begin(ends[0].perf_time_100nsec);
  if (ends[1].perf_time_100nsec <= EndOf(first)) {
    first.last = 1;
    first.length = fold.length;
    first.longest = fold.longest;
    ticks.stretches.push_back(first);
    return ticks;
  }
  Stretch rest = Begin(ends[1].perf_time_100nsec);
  rest.first = rest.last = 1;
  // The longest piece is what matters of the pieces that end in the stretch.
  rest.link = fold.longest;
  ticks.stretches = {first, rest};
  return ticks;
}

DividedTicks StretchTable::Divide(absl::Span<const perflib::Clocks> clocks,
                                  absl::Duration interval) const {
  const ClockCheck check(interval);
  DividedTicks ticks;
  if (clocks.empty()) return ticks;
  ticks.lengths.resize(clocks.size());
  check.SoundLengths(clocks, absl::MakeSpan(ticks.lengths));
  ticks.stretches.reserve(
      std::min<uint64_t>(clocks.size(), TimeBetween(clocks) / length_ + 2));
  for (uint32_t tick = 0; tick < clocks.size();) {
    Stretch stretch = Begin(clocks[tick].perf_time_100nsec);
    const int64_t end = EndOf(stretch);
    stretch.first = tick;
    int64_t& link = ticks.lengths[tick];
    if (link >= 0) {
      stretch.link = link;
    } else {
      link = 0;  // a break
    }
    int64_t longest = 0;
    // Times do not decrease within a stretch.
    for (++tick; tick < clocks.size(); ++tick) {
      const int64_t length = ticks.lengths[tick];
      if (length < 0 || clocks[tick].perf_time_100nsec > end) break;
      longest = std::max(longest, length);
      stretch.length += length;
    }
    stretch.last = tick - 1;
    stretch.longest = longest;
    ticks.stretches.push_back(stretch);
  }
  return ticks;
}

}  // namespace fleetperf::aggregator
