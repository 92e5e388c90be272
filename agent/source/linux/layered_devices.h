// Block devices whose requests count in other devices as well.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_LAYERED_DEVICES_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_LAYERED_DEVICES_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "agent/source/linux/block_device_name.h"
#include "agent/source/linux/disk_counters.h"

namespace fleetperf::agent {

// Remembers its answers. Thread-compatible.
class LayeredDevices {
 public:
  // `root` is the directory that holds sys.
  explicit LayeredDevices(std::string root) : root_(std::move(root)) {}

  // `device` is a DeviceNumber.
  bool Contains(uint32_t device) {
    const auto [entry, is_new] = is_layered_.try_emplace(device, false);
    if (is_new) entry->second = IsLayeredDevice(BlockDeviceName(root_, device));
    return entry->second;
  }

 private:
  const std::string root_;
  absl::flat_hash_map<uint32_t, bool> is_layered_;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_LAYERED_DEVICES_H_
