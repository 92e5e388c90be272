#include "aggregator/peers/frame_slice.h"

#include <algorithm>
#include <memory>
#include <vector>

namespace fleetperf::aggregator {
namespace {

// A run's ticks inside the slice.
struct Part {
  size_t run = 0;
  uint32_t skipped = 0;  // of its ticks, before the slice
  uint32_t ticks = 0;
};

FrameColumn SliceColumn(const Frame& frame, const FrameColumn& column,
                        const std::vector<Part>& parts) {
  FrameColumn sliced{.constant = column.constant};
  uint32_t position = 0;  // in the slice
  for (const Part& part : parts) {
    const uint32_t begin = frame.runs[part.run].begin + part.skipped;
    if (column.constant) {
      sliced.values.push_back(column.values[part.run]);
    } else if (!column.values.empty()) {
      const auto values = column.values.begin() + begin;
      sliced.values.insert(sliced.values.end(), values, values + part.ticks);
    }
    auto missing =
        std::lower_bound(column.missing.begin(), column.missing.end(), begin);
    for (; missing != column.missing.end() && *missing < begin + part.ticks;
         ++missing) {
      sliced.missing.push_back(*missing - begin + position);
    }
    position += part.ticks;
  }
  return sliced;
}

}  // namespace

Frame Slice(const Frame& frame, uint32_t first, uint32_t end) {
  Frame slice{.query = frame.query, .epoch_number = frame.epoch_number};
  slice.clocks = std::make_shared<const std::vector<perflib::Clocks>>(
      frame.clocks->begin() + first, frame.clocks->begin() + end);
  std::vector<Part> parts;
  uint32_t position = 0;
  for (size_t i = 0; i < frame.runs.size(); ++i) {
    const Frame::Run& run = frame.runs[i];
    const uint32_t from = std::max(run.first_tick, first);
    const uint32_t to = std::min(run.first_tick + run.tick_count, end);
    if (from >= to) continue;
    parts.push_back(
        {.run = i, .skipped = from - run.first_tick, .ticks = to - from});
    slice.runs.push_back({.instance = run.instance,
                          .first_tick = from - first,
                          .tick_count = to - from,
                          .begin = position});
    position += to - from;
  }
  for (const FrameColumn& column : frame.columns) {
    slice.columns.push_back(SliceColumn(frame, column, parts));
  }
  for (const Frame::Failure& failure : frame.failures) {
    if (failure.tick < first || failure.tick >= end) continue;
    slice.failures.push_back(
        {.tick = failure.tick - first, .status = failure.status});
  }
  if (!frame.interval_times.empty()) {
    slice.interval_times.assign(frame.interval_times.begin() + first,
                                frame.interval_times.begin() + end);
  }
  return slice;
}

}  // namespace fleetperf::aggregator
