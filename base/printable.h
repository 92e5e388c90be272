// Text from outside, made fit for logs and terminals.

#ifndef FLEETPERF_BASE_PRINTABLE_H_
#define FLEETPERF_BASE_PRINTABLE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace fleetperf {

// `text` with a "?" for each control character, so that a name that came from a
// machine neither breaks a line nor commands a terminal.
std::string Printable(absl::string_view text);

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_PRINTABLE_H_
