// Sums over devices, any of which can go away.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_CGROUP_DEVICE_SUMS_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_CGROUP_DEVICE_SUMS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/container/flat_hash_map.h"

namespace fleetperf::agent {

// The sums of counts that only grow do not fall when a device goes away or
// another one gets its number. Unlike those of Totals, they contain what was
// counted before the first pass. Thread-compatible.
class DeviceSums {
 public:
  static constexpr size_t kMaxCounts = 5;
  using Counts = std::array<std::optional<uint64_t>, kMaxCounts>;
  using Sums = std::array<uint64_t, kMaxCounts>;

  // One pass: Begin, CountsOf for each device, Finish.
  void Begin() { ++pass_; }

  // Returns the counts of a device in this pass, to be set: absent at first. A
  // count that stays absent is that of the last pass.
  Counts& CountsOf(uint32_t device) {
    Device& entry = devices_[device];
    if (entry.pass != pass_) {
      entry.pass = pass_;
      entry.now = {};
    }
    return entry.now;
  }

  Sums Finish() {
    Sums sums = {};
    for (size_t i = 0; i < kMaxCounts; ++i) {
      for (auto& [number, device] : devices_) {
        if (device.pass == pass_ && device.now[i].has_value()) {
          // A count that fell belongs to another device.
          if (*device.now[i] < device.last[i]) replaced_[i] += device.last[i];
          device.last[i] = *device.now[i];
        }
        sums[i] += device.last[i];
      }
      sums[i] += replaced_[i];
    }
    return sums;
  }

 private:
  struct Device {
    Counts now = {};
    Sums last = {};
    uint64_t pass = 0;  // the last pass that saw it
  };

  absl::flat_hash_map<uint32_t, Device> devices_;  // by device number
  Sums replaced_ = {};  // of devices whose numbers others have now
  uint64_t pass_ = 0;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_CGROUP_DEVICE_SUMS_H_
