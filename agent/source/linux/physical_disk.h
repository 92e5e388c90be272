// The counterset "PhysicalDisk": whole disks, from /proc/diskstats.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_PHYSICAL_DISK_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_PHYSICAL_DISK_H_

#include <cstdint>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "agent/source/linux/counters.h"
#include "agent/source/linux/disk_counters.h"
#include "agent/source/linux/proc_file.h"
#include "agent/source/provider.h"
#include "agent/source/totals.h"

namespace fleetperf::agent {

class PhysicalDisk : public Provider {
 public:
  static const LinuxCounterset kCounterset;

  // `root` is the directory that holds proc and sys: "" on a real machine.
  explicit PhysicalDisk(const std::string& root);

  absl::Status Sample(ColumnSet needed, const perflib::Clocks& clocks,
                      CountersetSample* sample) override;

 private:
  struct Disk {
    std::string name;
    std::string utf16_name;
    bool is_whole = false;
    DiskCounts counts;
    uint64_t pass = 0;  // the last one in which it existed
  };

  Disk& GetDisk(const DiskLine& line);

  const std::string root_;
  ProcFile diskstats_;
  std::string buffer_;
  absl::flat_hash_map<uint32_t, Disk> disks_;  // by device number
  uint64_t pass_ = 0;
  Totals totals_;
  const std::string utf16_total_name_;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_PHYSICAL_DISK_H_
