// The files of cgroups of version 1.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_CGROUP_CGROUP_VERSION1_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_CGROUP_CGROUP_VERSION1_H_

#include <cstdint>
#include <optional>
#include <string>

#include "agent/source/linux/cgroup/cgroups.h"
#include "agent/source/linux/disk/block_device_name.h"
#include "agent/source/linux/keyed_text.h"
#include "agent/source/provider.h"
#include "perflib/clocks.h"

namespace fleetperf::agent {

// In units of 100 ns.
struct CgroupTimes {
  std::optional<uint64_t> usage;
  std::optional<uint64_t> user;
  std::optional<uint64_t> system;
};

CgroupTimes ReadVersion1Times(Cgroups& cgroups, Cgroup& cgroup,
                              const perflib::Clocks& clocks,
                              std::string* buffer);

// The columns of Linux Cgroup. Thread-compatible.
class CgroupVersion1 {
 public:
  CgroupVersion1();

  // Sets the columns in the last row.
  void AddColumns(ColumnSet needed, Cgroups& cgroups, Cgroup& cgroup,
                  LayeredDevices& layered_devices,
                  const perflib::Clocks& clocks, std::string* buffer,
                  CountersetSample* sample);

 private:
  KeyedText cpu_stat_;
  KeyedText memory_stat_;
  KeyedText oom_control_;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_CGROUP_CGROUP_VERSION1_H_
