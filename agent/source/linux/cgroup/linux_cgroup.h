// The counterset "Linux Cgroup": the resources used by cgroups.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_CGROUP_LINUX_CGROUP_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_CGROUP_LINUX_CGROUP_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "agent/source/linux/cgroup/cgroup_version1.h"
#include "agent/source/linux/cgroup/cgroups.h"
#include "agent/source/linux/cgroup/device_sums.h"
#include "agent/source/linux/counters.h"
#include "agent/source/linux/disk/block_device_name.h"
#include "agent/source/linux/keyed_text.h"
#include "agent/source/provider.h"

namespace fleetperf::agent {

class LinuxCgroup : public Provider {
 public:
  static const LinuxCounterset kCounterset;

  // `root` is the directory that holds sys: "" on a real machine.
  LinuxCgroup(const std::string& root, std::shared_ptr<Cgroups> cgroups);

  absl::Status Sample(ColumnSet needed, const perflib::Clocks& clocks,
                      CountersetSample* sample) override;

 private:
  void AddCpu(ColumnSet needed, Cgroup& cgroup, const perflib::Clocks& clocks,
              CountersetSample* sample);
  void AddMemory(ColumnSet needed, Cgroup& cgroup,
                 const perflib::Clocks& clocks, CountersetSample* sample);
  void AddIo(Cgroup& cgroup, const perflib::Clocks& clocks,
             CountersetSample* sample);
  ColumnSet AddIoField(uint32_t device, absl::string_view field,
                       DeviceSums* sums);
  void AddTasks(ColumnSet needed, Cgroup& cgroup, const perflib::Clocks& clocks,
                CountersetSample* sample);
  void AddPressure(ColumnSet needed, Cgroup& cgroup,
                   const perflib::Clocks& clocks, CountersetSample* sample);
  // Sets a column to the file's number, if the file has one: not "max".
  void AddNumber(ColumnSet needed, size_t column, CgroupFile file,
                 Cgroup& cgroup, const perflib::Clocks& clocks,
                 CountersetSample* sample);

  const std::shared_ptr<Cgroups> cgroups_;
  LayeredDevices layered_devices_;
  KeyedText cpu_stat_;
  KeyedText memory_events_;
  KeyedText memory_stat_;
  KeyedText pids_events_;
  CgroupVersion1 version1_;
  std::string buffer_;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_CGROUP_LINUX_CGROUP_H_
