// The driver's device object, which only certain accounts can open.

#ifndef FLEETPERF_DRIVER_WINDOWS_SYS_DEVICE_H_
#define FLEETPERF_DRIVER_WINDOWS_SYS_DEVICE_H_

#include "driver/windows/sys/kernel.h"

namespace fleetperf::pmu_device {

// Creates the device with the access list of access_list.h, then the link that
// clients open. Fails unless Windows confirms the list. Windows checks the list
// whenever the device is opened, and opens no device before DriverEntry
// returned.
NTSTATUS CreateSecureDevice(DRIVER_OBJECT* driver, ULONG extension_size,
                            DEVICE_OBJECT** device);

// Deletes the device and its link.
void DeleteSecureDevice(DEVICE_OBJECT* device);

}  // namespace fleetperf::pmu_device

#endif  // FLEETPERF_DRIVER_WINDOWS_SYS_DEVICE_H_
