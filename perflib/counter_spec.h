// Counterset tables in code, for countersets that a program serves itself.

#ifndef FLEETPERF_PERFLIB_COUNTER_SPEC_H_
#define FLEETPERF_PERFLIB_COUNTER_SPEC_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "perflib/registration.h"

namespace fleetperf::perflib {

// A counter of the table. Its position in the table is its column.
struct CounterSpec {
  uint32_t id;
  uint32_t type;
  absl::string_view name;  // empty for a counter that only supports others
  absl::string_view help;
  // Ids of the counters that its formula needs.
  uint32_t base_id = kNoCounter;
  uint32_t time_id = kNoCounter;
  uint32_t freq_id = kNoCounter;
  // If not 0, the displayed value is value * 10^scale.
  int32_t scale = 0;
};

// `guid` must be valid and in the form accepted by ParseGuid.
CountersetRegistration MakeRegistration(absl::string_view guid,
                                        absl::string_view name,
                                        absl::string_view help,
                                        absl::string_view provider_name,
                                        uint32_t instance_type,
                                        absl::Span<const CounterSpec> counters);

}  // namespace fleetperf::perflib

#endif  // FLEETPERF_PERFLIB_COUNTER_SPEC_H_
