#include "aggregator/formula/piece.h"

#include <optional>

#include "aggregator/store/frame.h"

namespace fleetperf::aggregator {
namespace {

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
  return BreakBetween(older.clocks, newer.clocks, length, interval);
}

}  // namespace

absl::Duration ClockLength(const perflib::Clocks& older,
                           const perflib::Clocks& newer) {
  const int64_t freq = newer.perf_freq;
  if (freq <= 0) return TimeOfDayLength(older, newer);
  return absl::Seconds(1) *
         (static_cast<double>(newer.perf_time_stamp) -
          static_cast<double>(older.perf_time_stamp)) /
         static_cast<double>(freq);
}

bool IsSound(const perflib::Clocks& older, const perflib::Clocks& newer,
             absl::Duration interval) {
  return newer.perf_time_stamp >= older.perf_time_stamp &&
         newer.perf_time_100nsec >= older.perf_time_100nsec &&
         !BreakBetween(older, newer, ClockLength(older, newer), interval)
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
