// The counterset "Linux MD RAID": arrays of the kernel's software RAID, from
// /sys/block.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_DISK_LINUX_MD_RAID_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_DISK_LINUX_MD_RAID_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "agent/source/linux/counters.h"
#include "agent/source/linux/periodic.h"
#include "agent/source/provider.h"

namespace fleetperf::agent {

class LinuxMdRaid : public Provider {
 public:
  static const LinuxCounterset kCounterset;

  // `root` is the directory that holds sys: "" on a real machine.
  explicit LinuxMdRaid(const std::string& root);

  absl::Status Sample(ColumnSet needed, const perflib::Clocks& clocks,
                      CountersetSample* sample) override;

 private:
  struct Array {
    std::string utf16_name;
    uint32_t id = 0;        // DeviceNumber
    std::string directory;  // "/sys/block/md0/md"
  };

  void List();

  const std::string root_;
  Periodic list_{/*seconds=*/10};
  std::vector<Array> arrays_;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_DISK_LINUX_MD_RAID_H_
