// The counterset "Linux Block Device": partitions, logical volumes, RAID arrays
// and other devices that are no disks of their own, from /proc/diskstats.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_LINUX_BLOCK_DEVICE_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_LINUX_BLOCK_DEVICE_H_

#include <cstdint>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "agent/source/linux/counters.h"
#include "agent/source/linux/disk_counters.h"
#include "agent/source/linux/proc_file.h"
#include "agent/source/provider.h"

namespace fleetperf::agent {

class LinuxBlockDevice : public Provider {
 public:
  static const LinuxCounterset kCounterset;

  // `root` is the directory that holds proc and sys: "" on a real machine.
  explicit LinuxBlockDevice(const std::string& root);

  absl::Status Sample(ColumnSet needed, const perflib::Clocks& clocks,
                      CountersetSample* sample) override;

 private:
  struct Device {
    std::string name;
    std::string utf16_name;
    bool is_disk = false;  // an instance of PhysicalDisk
    DiskCounts counts;
    uint64_t pass = 0;  // the last pass that saw it
  };

  Device& GetDevice(const DiskLine& line);
  // Returns the name that lsblk shows: of a device of the device mapper, that
  // of its map.
  std::string DisplayName(absl::string_view name);

  const std::string root_;
  ProcFile diskstats_;
  std::string buffer_;
  absl::flat_hash_map<uint32_t, Device> devices_;  // by device number
  uint64_t pass_ = 0;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_LINUX_BLOCK_DEVICE_H_
