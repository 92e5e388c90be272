// The counterset "LogicalDisk": mounted filesystems, from
// /proc/self/mountinfo, statvfs and /proc/diskstats.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_LOGICAL_DISK_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_LOGICAL_DISK_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "agent/source/linux/counters.h"
#include "agent/source/linux/disk_counters.h"
#include "agent/source/linux/filesystems.h"
#include "agent/source/linux/proc_file.h"
#include "agent/source/provider.h"
#include "agent/source/totals.h"

namespace fleetperf::agent {

class LogicalDisk : public Provider {
 public:
  static const LinuxCounterset kCounterset;

  // `root` is the directory that holds proc and sys: "" on a real machine.
  LogicalDisk(const std::string& root,
              std::shared_ptr<Filesystems> filesystems);

  absl::Status Sample(ColumnSet needed, const perflib::Clocks& clocks,
                      CountersetSample* sample) override;

 private:
  struct Device {
    DiskCounts counts;
    uint64_t pass = 0;  // the last pass that saw it
  };

  // Makes devices_ those of the filesystems.
  void FindDevices();
  absl::Status ReadDevices(const perflib::Clocks& clocks);

  const std::shared_ptr<Filesystems> filesystems_;
  ProcFile diskstats_;
  std::string buffer_;
  absl::flat_hash_map<uint32_t, Device> devices_;  // by device number
  uint64_t generation_ = 0;                        // of filesystems_
  uint64_t pass_ = 0;
  Totals totals_;
  const std::string utf16_total_name_;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_LOGICAL_DISK_H_
