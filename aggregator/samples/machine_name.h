// The one form of the names of machines and agents.

#ifndef FLEETPERF_AGGREGATOR_SAMPLES_MACHINE_NAME_H_
#define FLEETPERF_AGGREGATOR_SAMPLES_MACHINE_NAME_H_

#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/string_view.h"

namespace fleetperf::aggregator {

// Returns the name in lower case. Like DNS names, the names of machines and
// agents ignore the case of ASCII letters. Everything behind the boundary of
// the aggregator uses this form, and compares it byte by byte.
inline std::string CanonicalName(absl::string_view name) {
  return absl::AsciiStrToLower(name);
}

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SAMPLES_MACHINE_NAME_H_
