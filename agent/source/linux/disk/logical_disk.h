// The counterset "LogicalDisk": mounted filesystems, from
// /proc/self/mountinfo, statvfs and /proc/diskstats.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_DISK_LOGICAL_DISK_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_DISK_LOGICAL_DISK_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "agent/source/linux/counters.h"
#include "agent/source/linux/disk/block_devices.h"
#include "agent/source/linux/disk/filesystems.h"
#include "agent/source/provider.h"
#include "agent/source/totals.h"

namespace fleetperf::agent {

class LogicalDisk : public Provider {
 public:
  static const LinuxCounterset kCounterset;

  LogicalDisk(std::shared_ptr<Filesystems> filesystems,
              std::shared_ptr<BlockDevices> devices);

  absl::Status Sample(ColumnSet needed, const perflib::Clocks& clocks,
                      CountersetSample* sample) override;

 private:
  // Adds the transfers of the filesystem's device to the last row.
  void AddTransfers(const Filesystem& filesystem, const perflib::Clocks& clocks,
                    CountersetSample* sample);

  const std::shared_ptr<Filesystems> filesystems_;
  const std::shared_ptr<BlockDevices> devices_;
  Totals totals_;
  // The devices that are in the totals of this pass.
  absl::flat_hash_set<uint32_t> added_devices_;
  const std::string utf16_total_name_;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_DISK_LOGICAL_DISK_H_
