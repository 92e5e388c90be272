// Sanitizes external text for logs and terminals.

#ifndef FLEETPERF_BASE_PRINTABLE_H_
#define FLEETPERF_BASE_PRINTABLE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace fleetperf {

// Returns `text` with each control character replaced by "?", so that external
// names can neither break lines nor send commands to a terminal.
std::string Printable(absl::string_view text);

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_PRINTABLE_H_
