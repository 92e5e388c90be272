// Converts operating system errors to absl::Status. No other code does.

#ifndef FLEETPERF_BASE_OS_OS_ERROR_H_
#define FLEETPERF_BASE_OS_OS_ERROR_H_

#include <cstdint>
#include <string>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace fleetperf {

// Returns "WHAT: No such file or directory" with the code that fits `error`.
absl::Status StatusFromErrno(int error, absl::string_view what);

// Same for an error of the standard library.
absl::Status StatusFromErrorCode(const std::error_code& error,
                                 absl::string_view what);

// Returns "WHAT: ERROR_ACCESS_DENIED (5)". Available on every platform, because
// blocks also bring Win32 codes to Linux sources and the aggregator. Error
// `kErrorSuccess` is OK.
absl::Status StatusFromWin32(uint32_t error, absl::string_view what);

// Returns "ERROR_ACCESS_DENIED (5)", or "error 12345" for a code not listed
// here.
std::string Win32ErrorName(uint32_t error);

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_OS_OS_ERROR_H_
