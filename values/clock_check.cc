#include "values/clock_check.h"

#include <algorithm>

#include "absl/numeric/int128.h"

namespace fleetperf {
namespace {

absl::Duration TimeOfDayLength(const perflib::Clocks& older,
                               const perflib::Clocks& newer) {
  return perflib::TimeOf(newer) - perflib::TimeOf(older);
}

// Returns whether the two clocks differ by more than the time between reading
// them, and the coarse ticks of Windows' time of day, can explain.
bool ClockStepped(absl::Duration stamp, absl::Duration time_of_day) {
  const absl::Duration tolerance = absl::Milliseconds(50) + stamp / 100;
  return absl::AbsDuration(time_of_day - stamp) > tolerance;
}

}  // namespace

std::optional<GapCause> ClockBreak(const perflib::Clocks& older,
                                   const perflib::Clocks& newer,
                                   absl::Duration length,
                                   absl::Duration interval) {
  if (length > interval * kMaxIntervalsApart) return GapCause::kNoSamples;
  if (older.perf_freq != newer.perf_freq ||
      ClockStepped(length, TimeOfDayLength(older, newer))) {
    return GapCause::kClockStep;
  }
  return std::nullopt;
}

absl::Duration ClockLength(const perflib::Clocks& older,
                           const perflib::Clocks& newer) {
  const int64_t freq = newer.perf_freq;
  if (freq <= 0) return TimeOfDayLength(older, newer);
  int64_t ticks = 0;
  if (freq == perflib::kLinuxPerfFreq &&
      !__builtin_sub_overflow(newer.perf_time_stamp, older.perf_time_stamp,
                              &ticks) &&
      ticks > -ClockCheck::kMaxTicks && ticks < ClockCheck::kMaxTicks) {
    return absl::Nanoseconds(100 * ticks);
  }
  const auto nanos_at = [&](const perflib::Clocks& clocks) {
    return absl::int128(clocks.perf_time_stamp) * 1'000'000'000 / freq;
  };
  constexpr absl::int128 kLongest = int64_t{1} << 62;
  return absl::Nanoseconds(static_cast<int64_t>(
      std::clamp(nanos_at(newer) - nanos_at(older), -kLongest, kLongest)));
}

ClockCheck::ClockCheck(absl::Duration interval)
    : interval_(interval),
      longest_(static_cast<int64_t>(
          static_cast<double>(absl::ToInt64Nanoseconds(interval) / 100) *
          kMaxIntervalsApart)) {}

void ClockCheck::SoundLengths(absl::Span<const perflib::Clocks> clocks,
                              absl::Span<int64_t> lengths) const {
  if (clocks.empty()) return;
  lengths[0] = -1;
  if (AreSoundOnLinux(clocks, lengths)) return;
  for (size_t tick = 1; tick < clocks.size(); ++tick) {
    lengths[tick] = SoundLength(clocks[tick - 1], clocks[tick]).value_or(-1);
  }
}

// The common case: the clocks differ by at most kTolerance. Sets the lengths if
// all are sound. Has no branch per tick, and compares the extremes once.
bool ClockCheck::AreSoundOnLinux(absl::Span<const perflib::Clocks> clocks,
                                 absl::Span<int64_t> lengths) const {
  constexpr auto kTolerated = static_cast<uint64_t>(kTolerance);
  bool is_other = clocks[0].perf_freq != perflib::kLinuxPerfFreq;
  uint64_t longest = 0;
  uint64_t furthest = 0;  // the largest difference of the clocks + kTolerated
  for (size_t tick = 1; tick < clocks.size(); ++tick) {
    const perflib::Clocks& older = clocks[tick - 1];
    const perflib::Clocks& newer = clocks[tick];
    const uint64_t length = static_cast<uint64_t>(newer.perf_time_stamp) -
                            static_cast<uint64_t>(older.perf_time_stamp);
    const uint64_t time_of_day =
        static_cast<uint64_t>(newer.perf_time_100nsec) -
        static_cast<uint64_t>(older.perf_time_100nsec);
    is_other |= (newer.perf_freq != perflib::kLinuxPerfFreq) |
                (newer.perf_time_stamp < older.perf_time_stamp) |
                (newer.perf_time_100nsec < older.perf_time_100nsec);
    longest = std::max(longest, length);
    furthest = std::max(furthest, time_of_day - length + kTolerated);
    lengths[tick] = static_cast<int64_t>(100 * length);
  }
  return !is_other && longest <= static_cast<uint64_t>(longest_) &&
         longest < static_cast<uint64_t>(kMaxTicks) &&
         furthest <= 2 * kTolerated;
}

std::optional<int64_t> ClockCheck::SlowSoundLength(
    const perflib::Clocks& older, const perflib::Clocks& newer) const {
  if (newer.perf_time_stamp < older.perf_time_stamp ||
      newer.perf_time_100nsec < older.perf_time_100nsec) {
    return std::nullopt;
  }
  const absl::Duration length = ClockLength(older, newer);
  if (ClockBreak(older, newer, length, interval_)) return std::nullopt;
  return absl::ToInt64Nanoseconds(length);
}

}  // namespace fleetperf
