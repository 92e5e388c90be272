// Opens the device of the driver fleetperf_pmu.

#ifndef FLEETPERF_DRIVER_WINDOWS_CLIENT_OPEN_DEVICE_H_
#define FLEETPERF_DRIVER_WINDOWS_CLIENT_OPEN_DEVICE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "driver/hardware/device.h"

namespace fleetperf::hardware {

// The messages name the next step.
//   NotFound           the driver is not running
//   PermissionDenied   the account may not open the device
absl::StatusOr<std::unique_ptr<Device>> OpenDevice();

}  // namespace fleetperf::hardware

#endif  // FLEETPERF_DRIVER_WINDOWS_CLIENT_OPEN_DEVICE_H_
