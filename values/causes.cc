#include "values/causes.h"

namespace fleetperf {

GapCause GapCauseOf(LossCause cause) {
  switch (cause) {
    case LossCause::kSpoolFull:
      return GapCause::kSpoolFull;
    case LossCause::kSpoolExpired:
      return GapCause::kSpoolExpired;
    case LossCause::kSpoolDamaged:
      return GapCause::kSpoolDamaged;
    case LossCause::kDiskFull:
      return GapCause::kDiskFull;
    case LossCause::kPowerCut:
      return GapCause::kPowerCut;
    case LossCause::kStoreDamaged:
      return GapCause::kStoreDamaged;
    case LossCause::kRejected:
      return GapCause::kRejected;
    case LossCause::kOverrun:
      return GapCause::kOverrun;
    case LossCause::kSourceFailed:
      return GapCause::kNoValue;
    case LossCause::kUnknown:
      break;
  }
  return GapCause::kNoSamples;
}

absl::string_view NameOf(LossCause cause) {
  switch (cause) {
    case LossCause::kUnknown:
      return "unknown";
    case LossCause::kSpoolFull:
      return "spool_full";
    case LossCause::kSpoolExpired:
      return "spool_expired";
    case LossCause::kSpoolDamaged:
      return "spool_damaged";
    case LossCause::kDiskFull:
      return "disk_full";
    case LossCause::kRejected:
      return "rejected";
    case LossCause::kOverrun:
      return "overrun";
    case LossCause::kSourceFailed:
      return "source_failed";
    case LossCause::kPowerCut:
      return "power_cut";
    case LossCause::kStoreDamaged:
      return "store_damaged";
  }
  return "unknown";
}

absl::string_view NameOf(GapCause cause) {
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

}  // namespace fleetperf
