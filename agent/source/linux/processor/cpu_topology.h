// The NUMA nodes of the CPUs, and the CPUs' positions in them.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_PROCESSOR_CPU_TOPOLOGY_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_PROCESSOR_CPU_TOPOLOGY_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace fleetperf::agent {

// The position of a CPU is its index among the possible CPUs of its node by
// their numbers, as in Windows' "Processor Information", so that it does not
// depend on which CPUs are online. Sysfs tells the node of
// - an online CPU: nodeM/cpulist in /sys/devices/system/node,
// - a CPU that is present but offline: the link cpuN/nodeM in
//   /sys/devices/system/cpu,
// - a possible CPU that is not present (a slot for hot-plugging): nothing. If
//   the machine has one node, the CPU is in it; otherwise it is not counted
//   until it is present.
// A CPU keeps the node that it once had. Without cpu/possible, all numbers up
// to that of a CPU are possible. Without NUMA, all CPUs are in node 0.
//
// Thread-compatible.
class CpuTopology {
 public:
  struct Position {
    uint32_t node = 0;
    uint32_t index = 0;
  };

  // `root` is the directory that holds sys: "" on a real machine.
  explicit CpuTopology(const std::string& root)
      : directory_(root + "/sys/devices/system/") {}

  // Reads the files if one of `cpus` is unknown. Returns the positions, in the
  // order of `cpus`. A CPU that was hot-plugged can move those with higher
  // numbers.
  std::vector<Position> Find(const std::vector<uint32_t>& cpus);

 private:
  // Finds the nodes of all CPUs, `cpus` among them.
  void Read(const std::vector<uint32_t>& cpus);

  const std::string directory_;
  std::map<uint32_t, uint32_t> node_of_cpu_;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_PROCESSOR_CPU_TOPOLOGY_H_
