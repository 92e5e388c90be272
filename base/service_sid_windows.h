// The security identifier of a service.

#ifndef FLEETPERF_BASE_SERVICE_SID_WINDOWS_H_
#define FLEETPERF_BASE_SERVICE_SID_WINDOWS_H_

#include <string>

#include "absl/strings/string_view.h"

namespace fleetperf {

// Returns "S-1-5-80-...". Windows derives the identifier from the service's
// name (here ASCII), so it is known before the service exists. The five numbers
// are the SHA-1 of the upper-case name in UTF-16.
std::string ServiceSid(absl::string_view service);

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_SERVICE_SID_WINDOWS_H_
