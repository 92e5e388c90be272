// Which CPUs share a package (socket) or a third-level cache.

#ifndef FLEETPERF_DRIVER_HARDWARE_LINUX_CPU_TOPOLOGY_H_
#define FLEETPERF_DRIVER_HARDWARE_LINUX_CPU_TOPOLOGY_H_

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "driver/perf_event/system.h"

namespace fleetperf::hardware {

// Source: topology/physical_package_id in /sys/devices/system/cpu/cpuN, read
// once for each CPU. Thread-compatible.
class CpuPackages {
 public:
  explicit CpuPackages(perf_event::System& system) : system_(system) {}

  // `cpus` are those online, in ascending order.
  void Update(const std::vector<int>& cpus);

  // Of a CPU of any Update; std::nullopt: unknown, as on machines that number
  // the packages -1.
  std::optional<int> Of(int cpu) const;
  // Whether the CPU is the first one online of its package.
  bool IsFirst(int cpu) const { return first_.contains(cpu); }

 private:
  perf_event::System& system_;
  std::map<int, std::optional<int>> packages_;  // by CPU
  std::set<int> first_;
};

// Returns the online CPUs that share `cpu`'s third-level cache, itself among
// them, from sysfs. Empty if the system does not say.
std::vector<int> CpusOfL3(perf_event::System& system, int cpu);

}  // namespace fleetperf::hardware

#endif  // FLEETPERF_DRIVER_HARDWARE_LINUX_CPU_TOPOLOGY_H_
