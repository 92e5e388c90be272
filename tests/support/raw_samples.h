// Builds raw samples and formulas.

#ifndef FLEETPERF_TESTS_SUPPORT_RAW_SAMPLES_H_
#define FLEETPERF_TESTS_SUPPORT_RAW_SAMPLES_H_

#include <cstdint>
#include <ostream>

#include "absl/time/time.h"
#include "aggregator/samples/frame.h"
#include "perflib/clocks.h"
#include "perflib/registration.h"
#include "values/counter_formula.h"
#include "values/formula.h"

namespace fleetperf {

// Prints a value in the messages of failed tests.
inline void PrintTo(const CalculatedValue& value, std::ostream* out) {
  out->precision(17);
  *out << value.value << " " << StatusName(value.status) << " "
       << NameOf(value.cause);
}

}  // namespace fleetperf

namespace fleetperf::testing {

// The start time of tests: a full hour, so that every step divides it.
inline constexpr absl::Time kStart = absl::FromUnixSeconds(1'800'000'000);
inline absl::Time At(double seconds) { return kStart + absl::Seconds(seconds); }

inline constexpr uint32_t kTimer100Ns = 0x20510500;   // 100NSEC_TIMER
inline constexpr uint32_t kAverageBulk = 0x40020500;  // AVERAGE_BULK

inline constexpr int64_t kFreq = 10'000'000;

// Returns the clocks of a block that was taken `at` after kStart.
inline perflib::Clocks ClocksAt(absl::Duration at) {
  constexpr int64_t kStampAtStart = 777'000'000'000;
  return {.perf_time_stamp =
              kStampAtStart + at / absl::Nanoseconds(1'000'000'000 / kFreq),
          .perf_time_100nsec = perflib::PerfTime100NSecFromTime(kStart + at),
          .perf_freq = kFreq};
}
inline perflib::Clocks ClocksAt(double seconds) {
  return ClocksAt(absl::Seconds(seconds));
}

inline RawValue U32(uint32_t value) { return {.value = value, .size = 4}; }
inline RawValue U64(uint64_t value) { return {.value = value, .size = 8}; }

inline constexpr uint64_t kLife = MakeLife(1, 1);

// Returns a sample taken `seconds` after kStart. `denominator` is the value of
// a base or an object's time.
inline RawSample SampleAt(double seconds, RawValue value,
                          RawValue denominator = {}, uint64_t life = kLife) {
  return {.clocks = ClocksAt(seconds),
          .life = life,
          .value = value,
          .denominator = denominator};
}

// Returns the formula of a counter of `type` that has every linked counter a
// formula may need.
inline CounterFormula FormulaOfType(uint32_t type) {
  perflib::CountersetRegistration registration;
  registration.counters = {{.counter_id = 1,
                            .type = type,
                            .base_counter_id = 2,
                            .perf_time_id = 3,
                            .perf_freq_id = 4,
                            .multi_id = 5},
                           {.counter_id = 2},
                           {.counter_id = 3},
                           {.counter_id = 4},
                           {.counter_id = 5}};
  return FormulaOf(registration, registration.counters[0]);
}

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_SUPPORT_RAW_SAMPLES_H_
