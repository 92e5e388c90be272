// The names of attributes' fields and bits, and the kernels that introduced
// them. For messages.

#ifndef FLEETPERF_DRIVER_PERF_EVENT_ATTRIBUTE_NAMES_H_
#define FLEETPERF_DRIVER_PERF_EVENT_ATTRIBUTE_NAMES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "driver/perf_event/attributes.h"

namespace fleetperf::perf_event {

// An option that is in use.
struct UsedAttribute {
  absl::string_view name;   // as in perf_event_attr: "inherit_thread"
  std::string value;        // "1"
  absl::string_view since;  // the first kernel that knows it: "5.13"
  size_t end;               // where its field ends in perf_event_attr
};

// Returns all fields and bits that are not 0, in the order of the structure.
std::vector<UsedAttribute> UsedAttributes(const Attributes& attributes);

// Whether kernel `release` ("5.10.0-28-amd64") is older than `version`
// ("5.13"). False if the release is not understood.
bool IsOlder(absl::string_view release, absl::string_view version);

}  // namespace fleetperf::perf_event

#endif  // FLEETPERF_DRIVER_PERF_EVENT_ATTRIBUTE_NAMES_H_
