#include "aggregator/formula/piece.h"

#include <cstdlib>
#include <optional>

#include "aggregator/store/frame.h"

namespace fleetperf::aggregator {
namespace {

// What PerfTimeStamp counts on Linux and current Windows.
constexpr int64_t kTicksOf100NSec = 10'000'000;
// As many of them can be reckoned with in integers.
constexpr int64_t kMostTicks = int64_t{1} << 55;

absl::Duration TimeOfDayLength(const perflib::Clocks& older,
                               const perflib::Clocks& newer) {
  return perflib::TimeFromPerfTime100NSec(newer.perf_time_100nsec) -
         perflib::TimeFromPerfTime100NSec(older.perf_time_100nsec);
}

// The two clocks disagree by more than reading them one after the other, or by
// the coarse ticks of Windows' time of day, can explain.
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

// The same in integers, where both clocks tick so: whether there is no break.
std::optional<bool> IsSoundIn100NSec(const perflib::Clocks& older,
                                     const perflib::Clocks& newer,
                                     absl::Duration interval) {
  int64_t length = 0;
  int64_t time_of_day = 0;
  if (older.perf_freq != kTicksOf100NSec ||
      newer.perf_freq != kTicksOf100NSec ||
      __builtin_sub_overflow(newer.perf_time_stamp, older.perf_time_stamp,
                             &length) ||
      __builtin_sub_overflow(newer.perf_time_100nsec, older.perf_time_100nsec,
                             &time_of_day) ||
      std::abs(length) >= kMostTicks || std::abs(time_of_day) >= kMostTicks) {
    return std::nullopt;
  }
  constexpr int64_t kTolerance = kTicksOf100NSec / 20;
  const double longest =
      static_cast<double>(absl::ToInt64Nanoseconds(interval) / 100) *
      kMaxIntervalsApart;
  return static_cast<double>(length) <= longest &&
         100 * std::abs(time_of_day - length) <= 100 * kTolerance + length;
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
  if (IsSoundIn100NSec(older.clocks, newer.clocks, interval).value_or(false)) {
    return std::nullopt;
  }
  return BreakBetween(older.clocks, newer.clocks, length, interval);
}

}  // namespace

absl::Duration ClockLength(const perflib::Clocks& older,
                           const perflib::Clocks& newer) {
  const int64_t freq = newer.perf_freq;
  if (freq <= 0) return TimeOfDayLength(older, newer);
  int64_t ticks = 0;
  if (freq == kTicksOf100NSec &&
      !__builtin_sub_overflow(newer.perf_time_stamp, older.perf_time_stamp,
                              &ticks) &&
      std::abs(ticks) < kMostTicks) {
    return absl::Nanoseconds(100 * ticks);
  }
  return absl::Seconds(1) *
         (static_cast<double>(newer.perf_time_stamp) -
          static_cast<double>(older.perf_time_stamp)) /
         static_cast<double>(freq);
}

bool IsSound(const perflib::Clocks& older, const perflib::Clocks& newer,
             absl::Duration interval) {
  if (newer.perf_time_stamp < older.perf_time_stamp ||
      newer.perf_time_100nsec < older.perf_time_100nsec) {
    return false;
  }
  if (const auto sound = IsSoundIn100NSec(older, newer, interval)) {
    return *sound;
  }
  return !BreakBetween(older, newer, ClockLength(older, newer), interval)
              .has_value();
}

Piece MakePiece(const CounterFormula& formula, const RawSample& older,
                const RawSample& newer, absl::Duration interval) {
  Piece piece{
      .start = perflib::TimeFromPerfTime100NSec(older.clocks.perf_time_100nsec),
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

}  // namespace fleetperf::aggregator
