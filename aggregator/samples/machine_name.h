// The one form of the names of machines and agents.

#ifndef FLEETPERF_AGGREGATOR_SAMPLES_MACHINE_NAME_H_
#define FLEETPERF_AGGREGATOR_SAMPLES_MACHINE_NAME_H_

#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace fleetperf::aggregator {

// Returns the name in lower case. Like DNS names, the names of machines and
// agents ignore the case of ASCII letters. Everything behind the boundary of
// the aggregator uses this form, and compares it byte by byte.
inline std::string CanonicalName(absl::string_view name) {
  return absl::AsciiStrToLower(name);
}

// Returns the name of the agent that an aggregator's own counters on a machine
// are from. No other agent can have it, because certificates cannot contain it.
inline std::string OwnAgentName(absl::string_view machine) {
  return absl::StrCat("(aggregator of ", machine, ")");
}

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SAMPLES_MACHINE_NAME_H_
