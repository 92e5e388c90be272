// The countersets of block devices, from /proc/diskstats.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_DISK_DISK_COUNTERSETS_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_DISK_DISK_COUNTERSETS_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "agent/source/linux/counters.h"
#include "agent/source/linux/disk/block_devices.h"
#include "agent/source/provider.h"
#include "agent/source/totals.h"

namespace fleetperf::agent {

// The counterset "PhysicalDisk": whole disks.
class PhysicalDisk : public Provider {
 public:
  static const LinuxCounterset kCounterset;

  explicit PhysicalDisk(std::shared_ptr<BlockDevices> devices);

  absl::Status Sample(ColumnSet needed, const perflib::Clocks& clocks,
                      CountersetSample* sample) override;

 private:
  const std::shared_ptr<BlockDevices> devices_;
  Totals totals_;
  const std::string utf16_total_name_;
};

// The counterset "Linux Block Device": partitions, logical volumes, RAID arrays
// and other devices that are not disks of their own.
class LinuxBlockDevice : public Provider {
 public:
  static const LinuxCounterset kCounterset;

  explicit LinuxBlockDevice(std::shared_ptr<BlockDevices> devices);

  absl::Status Sample(ColumnSet needed, const perflib::Clocks& clocks,
                      CountersetSample* sample) override;

 private:
  const std::shared_ptr<BlockDevices> devices_;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_DISK_DISK_COUNTERSETS_H_
