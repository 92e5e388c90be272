// Explains why Windows did not start the driver.

#ifndef FLEETPERF_DRIVER_WINDOWS_LOADER_START_ERROR_H_
#define FLEETPERF_DRIVER_WINDOWS_LOADER_START_ERROR_H_

#include <cstdint>

#include "absl/status/status.h"
#include "driver/windows/loader/code_integrity.h"

namespace fleetperf {

// The status for a Win32 error of StartService. The message has the cause on
// this Windows and the next step. OK for ERROR_SUCCESS.
absl::Status StartError(uint32_t error, const CodeIntegrity& integrity);

}  // namespace fleetperf

#endif  // FLEETPERF_DRIVER_WINDOWS_LOADER_START_ERROR_H_
