#include "aggregator/store/read_range.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "base/logging.h"

namespace fleetperf::aggregator {

std::optional<Chunk::TickRange> TicksBetween(
    const std::vector<perflib::Clocks>& clocks, absl::Time from,
    absl::Time to) {
  const int64_t first_time = perflib::PerfTime100NSecFromTime(from);
  const int64_t last_time = perflib::PerfTime100NSecFromTime(to);
  const auto is_inside = [&](const perflib::Clocks& tick) {
    return tick.perf_time_100nsec >= first_time &&
           tick.perf_time_100nsec <= last_time;
  };
  const auto first = std::find_if(clocks.begin(), clocks.end(), is_inside);
  if (first == clocks.end()) return std::nullopt;
  const auto last = std::find_if(clocks.rbegin(), clocks.rend(), is_inside);
  return Chunk::TickRange{
      .first = static_cast<uint64_t>(first - clocks.begin()),
      .last = static_cast<uint64_t>(clocks.rend() - last - 1)};
}

bool RemoveRunsOutside(absl::Time from, absl::Time to, Frame* frame) {
  const auto ticks = TicksBetween(*frame->clocks, from, to);
  if (!ticks.has_value()) return false;
  size_t kept = 0;
  for (size_t i = 0; i < frame->runs.size(); ++i) {
    const Frame::Run& run = frame->runs[i];
    if (run.first_tick > ticks->last ||
        run.first_tick + run.tick_count <= ticks->first) {
      continue;
    }
    for (FrameColumn& column : frame->columns) {
      if (column.constant) column.values[kept] = column.values[i];
    }
    frame->runs[kept++] = run;
  }
  frame->runs.resize(kept);
  for (FrameColumn& column : frame->columns) {
    if (column.constant) column.values.resize(kept);
  }
  return true;
}

Loss DamagedBetween(absl::Time start, absl::Time end) {
  return {.start = start, .end = end, .cause = LossCause::kStoreDamaged};
}

void LogSkipped(const std::string& machine, const absl::Status& damage) {
  LogErrorOf(machine, absl::StrCat("skipped samples of ", machine, ": ",
                                   damage.message()));
}

}  // namespace fleetperf::aggregator
