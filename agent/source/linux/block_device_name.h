// The kernel's name of a block device.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_BLOCK_DEVICE_NAME_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_BLOCK_DEVICE_NAME_H_

#include <cstdint>
#include <string>

namespace fleetperf::agent {

// Returns "sda1" or "cciss/c0d0", or "" if there is no such device. `device` is
// a DeviceNumber; `root` is the directory that holds sys.
std::string BlockDeviceName(const std::string& root, uint32_t device);

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_BLOCK_DEVICE_NAME_H_
