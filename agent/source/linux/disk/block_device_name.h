// The kernel's name of a block device, and the kind of device that follows from
// it.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_DISK_BLOCK_DEVICE_NAME_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_DISK_BLOCK_DEVICE_NAME_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"

namespace fleetperf::agent {

// Returns "sda1" or "cciss/c0d0", or "" if there is no such device. `device` is
// a DeviceNumber; `root` is the directory that holds sys.
std::string BlockDeviceName(const std::string& root, uint32_t device);

// Returns whether the device is memory, a file, or a layer over other devices,
// whose requests count there once more: by its name, or because it has slaves
// in sysfs.
bool IsLayeredDevice(const std::string& root, absl::string_view name);

// Returns whether the device with this name is a disk of its own: no partition
// and no IsLayeredDevice.
bool IsWholeDisk(const std::string& root, absl::string_view name);

// The kernel's NVMe driver numbers a namespace with several paths as
// SUBSYSTEM and NAMESPACE, and lists a hidden device for each path, whose name
// has the number of the path's controller as well. Returns "nvme0n1" for
// "nvme0c1n1", and "" if the name is not that of a path.
std::string NvmeHeadOfPath(absl::string_view name);
// Returns "nvme0n1" for "nvme0n1p2", and "" if the name is not that of a
// partition of an NVMe namespace.
std::string NvmeHeadOfPartition(absl::string_view name);

// Caches the results of IsLayeredDevice. Thread-compatible.
class LayeredDevices {
 public:
  // `root` is the directory that holds sys.
  explicit LayeredDevices(std::string root) : root_(std::move(root)) {}

  // `device` is a DeviceNumber.
  bool Contains(uint32_t device) {
    const auto [entry, is_new] = is_layered_.try_emplace(device, false);
    if (is_new) {
      entry->second = IsLayeredDevice(root_, BlockDeviceName(root_, device));
    }
    return entry->second;
  }

 private:
  const std::string root_;
  absl::flat_hash_map<uint32_t, bool> is_layered_;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_DISK_BLOCK_DEVICE_NAME_H_
