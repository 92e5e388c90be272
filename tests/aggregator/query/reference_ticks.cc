#include "tests/aggregator/query/reference_ticks.h"

#include <algorithm>
#include <iterator>

namespace fleetperf::testing {

bool IsTooFar(int64_t apart, int64_t interval) {
  return 2 * apart > 5 * interval;
}

bool IsJoined(const ReferenceTick& older, const ReferenceTick& newer) {
  if (older.epoch != newer.epoch || older.freq != newer.freq) return false;
  const int64_t length =
      (newer.stamp - older.stamp) / (newer.freq / kTicksPerSecond);
  const int64_t of_day = newer.time - older.time;
  return length >= 0 && of_day >= 0 && !IsTooFar(length, newer.interval) &&
         std::max(of_day - length, length - of_day) <=
             kTicksPerSecond / 20 + length / 100;
}

bool GoesOn(const ReferenceMachine& machine, const ReferenceRange& range,
            int64_t newest) {
  int64_t last_tick = 0;
  int64_t interval = 0;
  for (const ReferenceTick& tick : machine.ticks) {
    if (tick.time < range.known_from || tick.time > range.end) continue;
    last_tick = tick.time;
    interval = std::max(interval, tick.interval);
  }
  return !IsTooFar(last_tick - newest, interval);
}

ReferenceSample BeforeBirth(const ReferenceSample& first,
                            const ReferenceTick& tick) {
  ReferenceSample before = first;
  before.time = tick.time;
  before.stamp = tick.stamp;
  before.freq = tick.freq;
  if (first.value.has_value()) before.value = 0;
  if (first.denominator.has_value()) before.denominator = 0;
  return before;
}

double PresenceOf(const std::vector<ReferenceInterval>& intervals,
                  int64_t start, int64_t end) {
  int64_t there = 0;
  int64_t absent = 0;
  for (const ReferenceInterval& interval : intervals) {
    if (interval.time <= start || interval.time > end) continue;
    if (interval.state == ReferenceInterval::State::kSound)
      there += interval.length;
    if (interval.state == ReferenceInterval::State::kAbsent)
      absent += interval.length;
  }
  if (absent == 0) return 1;
  return static_cast<double>(there) / static_cast<double>(there + absent);
}

std::vector<size_t> KnownTicks(const ReferenceMachine& machine,
                               const ReferenceRange& range) {
  std::vector<size_t> known;
  for (size_t i = 0; i < machine.ticks.size(); ++i) {
    const int64_t time = machine.ticks[i].time;
    if (time >= range.known_from && time <= range.end) known.push_back(i);
  }
  return known;
}

const ReferenceTick* TickBefore(const ReferenceMachine& machine,
                                const std::vector<size_t>& known, size_t tick) {
  const auto at = std::find(known.begin(), known.end(), tick);
  if (at == known.begin()) return nullptr;
  const ReferenceTick* before = &machine.ticks[*std::prev(at)];
  return before->epoch == machine.ticks[tick].epoch ? before : nullptr;
}

}  // namespace fleetperf::testing
