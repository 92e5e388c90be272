#include "values/piece.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "values/life.h"
#include "values/quotient.h"

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

std::optional<GapCause> BreakBetween(const perflib::Clocks& older,
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

std::optional<GapCause> BreakBetween(const RawSample& older,
                                     const RawSample& newer,
                                     absl::Duration length,
                                     absl::Duration interval) {
  if (older.life != newer.life) {
    return EpochOfLife(older.life) != EpochOfLife(newer.life)
               ? GapCause::kAgentRestart
               : GapCause::kNewLife;
  }
  if (!older.value.has_value() || !newer.value.has_value()) {
    return GapCause::kNoValue;
  }
  if (ClockCheck(interval).SoundLength(older.clocks, newer.clocks)) {
    return std::nullopt;
  }
  return BreakBetween(older.clocks, newer.clocks, length, interval);
}

}  // namespace

double TimeThere::PresenceIn(int64_t intervals) const {
  // Own breaks count in neither.
  const int64_t absent = intervals - all;
  return absent > 0 ? PartOf(sound, sound + absent) : 1;
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
  if (BreakBetween(older, newer, length, interval_)) return std::nullopt;
  return absl::ToInt64Nanoseconds(length);
}

Piece MakePiece(const CounterFormula& formula, const RawSample& older,
                const RawSample& newer, absl::Duration interval) {
  Piece piece{.start = perflib::TimeOf(older.clocks),
              .length = ClockLength(older.clocks, newer.clocks)};
  if (const auto cause = BreakBetween(older, newer, piece.length, interval)) {
    piece.problem = CalculatedValue::Gap(*cause);
    return piece;
  }
  const GrowthOrStatus growth = GrowthBetween(formula, older, newer);
  piece.growth = growth.growth;
  piece.problem = CalculatedValue::Of(growth.status);
  return piece;
}

RawSample BeforeBirth(const RawSample& first, const perflib::Clocks& clocks) {
  RawSample before = first;
  before.clocks = clocks;
  before.value.value = 0;
  before.denominator.value = 0;
  return before;
}

CalculatedValue ValueOfSample(const CounterFormula& formula,
                              const RawSample& sample,
                              const std::optional<Piece>& piece) {
  if (!formula.uses_two_samples()) return CalculateSample(formula, sample);
  if (!piece.has_value()) {
    return CalculatedValue::Of(ValueStatus::kNeedTwoSamples);
  }
  return piece->sound() ? CalculateGrowth(formula, piece->growth)
                        : piece->problem;
}

}  // namespace fleetperf
