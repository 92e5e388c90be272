#include "values/piece.h"

#include <optional>

#include "values/clock_check.h"
#include "values/life.h"

namespace fleetperf {
namespace {

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
  return ClockBreak(older.clocks, newer.clocks, length, interval);
}

}  // namespace

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

}  // namespace fleetperf
