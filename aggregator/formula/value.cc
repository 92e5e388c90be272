#include "aggregator/formula/value.h"

namespace fleetperf::aggregator {

absl::string_view StatusName(ValueStatus status) {
  switch (status) {
    case ValueStatus::kOk:
      return "ok";
    case ValueStatus::kNeedTwoSamples:
      return "need_two_samples";
    case ValueStatus::kNegativeValue:
      return "negative_value";
    case ValueStatus::kNegativeDenominator:
      return "negative_denominator";
    case ValueStatus::kZeroDenominator:
      return "zero_denominator";
    case ValueStatus::kBadFrequency:
      return "bad_frequency";
    case ValueStatus::kZeroMulti:
      return "zero_multi";
    case ValueStatus::kTypeMismatch:
      return "type_mismatch";
    case ValueStatus::kNotDisplayable:
      return "not_displayable";
    case ValueStatus::kUnknownType:
      return "unknown_type";
    case ValueStatus::kGap:
      return "gap";
    case ValueStatus::kNotFinite:
      return "not_finite";
  }
  return "unknown";
}

absl::string_view CauseName(GapCause cause) {
  switch (cause) {
    case GapCause::kNone:
      return "";
    case GapCause::kNoSamples:
      return "no_samples";
    case GapCause::kNewLife:
      return "new_life";
    case GapCause::kAgentRestart:
      return "agent_restart";
    case GapCause::kClockStep:
      return "clock_step";
    case GapCause::kNoValue:
      return "no_value";
    case GapCause::kSpoolFull:
      return "spool_full";
    case GapCause::kRejected:
      return "rejected";
    case GapCause::kOverrun:
      return "overrun";
    case GapCause::kReset:
      return "reset";
    case GapCause::kSpoolExpired:
      return "spool_expired";
    case GapCause::kSpoolDamaged:
      return "spool_damaged";
    case GapCause::kDiskFull:
      return "disk_full";
    case GapCause::kPowerCut:
      return "power_cut";
    case GapCause::kStoreDamaged:
      return "store_damaged";
  }
  return "unknown";
}

}  // namespace fleetperf::aggregator
