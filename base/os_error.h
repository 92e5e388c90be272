// The one place where error codes of operating systems become absl::Status.

#ifndef FLEETPERF_BASE_OS_ERROR_H_
#define FLEETPERF_BASE_OS_ERROR_H_

#include <cstdint>
#include <string>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace fleetperf {

// "WHAT: No such file or directory", with the code that fits an errno value.
absl::Status StatusFromErrno(int error, absl::string_view what);

// The same for an error of the standard library.
absl::Status StatusFromErrorCode(const std::error_code& error,
                                 absl::string_view what);

// "WHAT: ERROR_ACCESS_DENIED (5)". Works on every platform: Linux sources
// and the aggregator meet Win32 codes in blocks. Error `kErrorSuccess` is OK.
absl::Status StatusFromWin32(uint32_t error, absl::string_view what);

// "ERROR_ACCESS_DENIED (5)", or "error 12345" for a code without a name here.
std::string Win32ErrorName(uint32_t error);

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_OS_ERROR_H_
