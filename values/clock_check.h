// The time between the samples of a series: its limits, and the check of the
// two clocks of their ticks.

#ifndef FLEETPERF_VALUES_CLOCK_CHECK_H_
#define FLEETPERF_VALUES_CLOCK_CHECK_H_

#include <cstdint>
#include <cstdlib>
#include <optional>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "perflib/clocks.h"
#include "values/causes.h"

namespace fleetperf {

// Samples further apart than this many intervals have a gap between them. The
// limit is half an interval more than two, since ticks are not exact.
inline constexpr double kMaxIntervalsApart = 2.5;

// A sample that is more intervals than this before the start of a range begins
// no piece in the range. All sound pieces are within this limit, even if the
// clocks differ.
inline constexpr double kMaxIntervalsBefore = 3;

// The longest time from the sample before a fall to the one that returns.
inline constexpr double kMaxIntervalsToReturn = 5.5;

// Whether a piece is a return may depend on samples this many intervals before
// its newer one: kMaxIntervalsToReturn, if the clocks differ.
inline constexpr double kMaxIntervalsRead = 6;
// The same as a number of samples. Two ticks may be closer than the interval.
inline constexpr uint32_t kMaxSamplesRead = 8;

// Returns the time between two ticks by the monotonic clock, or by the time of
// day if there is no monotonic clock, in whole nanoseconds. Each tick's time is
// rounded, not their difference. So the lengths of adjacent pieces add up to
// the length between the first and the last tick, at every frequency.
absl::Duration ClockLength(const perflib::Clocks& older,
                           const perflib::Clocks& newer);

// Returns the cause of a break between the clocks of adjacent samples of one
// life; std::nullopt if there is none. `length` is their ClockLength, and
// `interval` their collection interval.
std::optional<GapCause> ClockBreak(const perflib::Clocks& older,
                                   const perflib::Clocks& newer,
                                   absl::Duration length,
                                   absl::Duration interval);

// Checks adjacent samples of one life for problems by their clocks alone.
// Reusable for many samples. Immutable.
class ClockCheck {
 public:
  // Lengths up to this number of ticks can be handled in integers.
  static constexpr int64_t kMaxTicks = int64_t{1} << 55;

  // `interval` is the collection interval of the samples.
  explicit ClockCheck(absl::Duration interval);

  // Returns ClockLength in nanoseconds. std::nullopt if a clock went back or
  // there is a problem.
  std::optional<int64_t> SoundLength(const perflib::Clocks& older,
                                     const perflib::Clocks& newer) const {
    int64_t length = 0;
    int64_t time_of_day = 0;
    // Uses integers if both clocks have the tick rate of Linux.
    if (older.perf_freq != perflib::kLinuxPerfFreq ||
        newer.perf_freq != perflib::kLinuxPerfFreq ||
        __builtin_sub_overflow(newer.perf_time_stamp, older.perf_time_stamp,
                               &length) ||
        __builtin_sub_overflow(newer.perf_time_100nsec, older.perf_time_100nsec,
                               &time_of_day) ||
        length >= kMaxTicks || time_of_day >= kMaxTicks) {
      return SlowSoundLength(older, newer);
    }
    if (length < 0 || time_of_day < 0 || length > longest_ ||
        100 * std::abs(time_of_day - length) > 100 * kTolerance + length) {
      return std::nullopt;
    }
    return 100 * length;
  }

  // Sets `lengths` to the nanoseconds between each tick and the one before it;
  // -1: there is a problem between them, or none before.
  void SoundLengths(absl::Span<const perflib::Clocks> clocks,
                    absl::Span<int64_t> lengths) const;

 private:
  // The clocks may differ by this number of ticks plus 1% of the length.
  static constexpr int64_t kTolerance = perflib::kLinuxPerfFreq / 20;

  bool AreSoundOnLinux(absl::Span<const perflib::Clocks> clocks,
                       absl::Span<int64_t> lengths) const;
  std::optional<int64_t> SlowSoundLength(const perflib::Clocks& older,
                                         const perflib::Clocks& newer) const;

  absl::Duration interval_;
  int64_t longest_;  // in ticks of 100 ns
};

}  // namespace fleetperf

#endif  // FLEETPERF_VALUES_CLOCK_CHECK_H_
