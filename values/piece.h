// A piece: two adjacent samples of a series.

#ifndef FLEETPERF_VALUES_PIECE_H_
#define FLEETPERF_VALUES_PIECE_H_

#include <cstdint>
#include <cstdlib>
#include <optional>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "perflib/clocks.h"
#include "values/counter_formula.h"
#include "values/formula.h"
#include "values/value.h"

namespace fleetperf {

// Samples further apart than this many intervals have a gap between them. The
// limit is half an interval more than two, since ticks are not exact.
inline constexpr double kMaxIntervalsApart = 2.5;

// A sample that is more intervals than this before the start of a range begins
// no piece in the range. All sound pieces are within this limit, even if the
// clocks differ.
inline constexpr double kMaxIntervalsBefore = 3;

// Two adjacent samples. Either `problem` is OK and there is growth, or
// `problem` is the reason why there is none.
struct Piece {
  Growth growth;
  CalculatedValue problem;
  absl::Time start;       // of the older sample
  absl::Duration length;  // by the monotonic clock

  bool sound() const { return problem.ok(); }
};

// The time of the tick intervals (aggregator/samples/tick_link.h) in which a
// series was there, in nanoseconds.
struct TimeThere {
  int64_t all = 0;
  int64_t sound = 0;  // without the series' own breaks

  // Adds an interval.
  void Add(int64_t length, bool is_sound) {
    all += length;
    if (is_sound) sound += length;
  }
  void Add(const TimeThere& other) {
    all += other.all;
    sound += other.sound;
  }
  // Returns the presence of the series, from the time of all tick intervals of
  // its query. 1 if there is no such time.
  double PresenceIn(int64_t intervals) const;
};

// Returns the time between two ticks by the monotonic clock, or by the time of
// day if there is no monotonic clock, in whole nanoseconds. Each tick's time is
// rounded, not their difference. So the lengths of adjacent pieces add up to
// the length between the first and the last tick, at every frequency.
absl::Duration ClockLength(const perflib::Clocks& older,
                           const perflib::Clocks& newer);

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

// Returns the piece between two samples alone: it may be the return of a
// counter that fell (series_end.h).
Piece MakePiece(const CounterFormula& formula, const RawSample& older,
                const RawSample& newer, absl::Duration interval);

// Returns the sample of a born instance at the tick before its first one: its
// cumulative counters were 0.
RawSample BeforeBirth(const RawSample& first, const perflib::Clocks& clocks);

// Returns the value of a sample alone, or of the piece that ends with it.
CalculatedValue ValueOfSample(const CounterFormula& formula,
                              const RawSample& sample,
                              const std::optional<Piece>& piece);

}  // namespace fleetperf

#endif  // FLEETPERF_VALUES_PIECE_H_
