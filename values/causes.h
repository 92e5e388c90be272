// The reasons why ticks are lost, and why values are missing.
//
// proto/conversions.h converts both enumerations to and from the wire's, which
// have the same numbers.

#ifndef FLEETPERF_VALUES_CAUSES_H_
#define FLEETPERF_VALUES_CAUSES_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace fleetperf {

// The reason why ticks that were due never reach the store. The meanings are
// those of v1::LossCause.
enum class LossCause : uint8_t {
  kUnknown,
  kSpoolFull,
  kSpoolExpired,
  kSpoolDamaged,
  kDiskFull,
  kRejected,
  kOverrun,
  kSourceFailed,
  kPowerCut,
  kStoreDamaged,
};
inline constexpr LossCause kLastLossCause = LossCause::kStoreDamaged;

// The reason why samples, or the connection between two samples, are missing.
// The meanings are those of v1::GapCause.
enum class GapCause : uint8_t {
  kNone,
  kNoSamples,
  kNewLife,
  kAgentRestart,
  kClockStep,
  kNoValue,
  kSpoolFull,
  kRejected,
  kOverrun,
  kReset,  // the counter or its base decreased
  kSpoolExpired,
  kSpoolDamaged,
  kDiskFull,
  kPowerCut,
  kStoreDamaged,
};
inline constexpr GapCause kLastGapCause = GapCause::kStoreDamaged;

// Returns the gap that lost ticks leave.
GapCause GapCauseOf(LossCause cause);

// Returns "spool_full".
absl::string_view NameOf(LossCause cause);
// Returns "no_samples"; empty for kNone.
absl::string_view NameOf(GapCause cause);

}  // namespace fleetperf

#endif  // FLEETPERF_VALUES_CAUSES_H_
