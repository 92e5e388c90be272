// The kernel's name of a block device.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_BLOCK_DEVICE_NAME_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_BLOCK_DEVICE_NAME_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace fleetperf::agent {

// Returns "sda1" or "cciss/c0d0", or "" if there is no such device. `device` is
// a DeviceNumber; `root` is the directory that holds sys.
std::string BlockDeviceName(const std::string& root, uint32_t device);

// Returns whether the device with this name is a disk of its own: no partition
// and no IsLayeredDevice.
bool IsWholeDisk(const std::string& root, absl::string_view name);

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_BLOCK_DEVICE_NAME_H_
