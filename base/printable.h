// Sanitizes external text for logs and terminals.

#ifndef FLEETPERF_BASE_PRINTABLE_H_
#define FLEETPERF_BASE_PRINTABLE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace fleetperf {

// Returns `text` with "?" for each control character, each character without a
// width, and each byte that is not UTF-8. So external names can neither break
// lines, nor send commands to a terminal, nor reverse or hide parts of a line.
std::string Printable(absl::string_view text);

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_PRINTABLE_H_
