// The counterset "NUMA Node Memory", from /sys/devices/system/node.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_MEMORY_NUMA_NODE_MEMORY_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_MEMORY_NUMA_NODE_MEMORY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "agent/source/linux/counters.h"
#include "agent/source/linux/keyed_text.h"
#include "agent/source/linux/optional_file.h"
#include "agent/source/linux/periodic.h"
#include "agent/source/provider.h"
#include "agent/source/totals.h"

namespace fleetperf::agent {

class NumaNodeMemory : public Provider {
 public:
  static const LinuxCounterset kCounterset;

  // `root` is the directory that holds sys: "" on a real machine.
  explicit NumaNodeMemory(const std::string& root);

  absl::Status Sample(ColumnSet needed, const perflib::Clocks& clocks,
                      CountersetSample* sample) override;

 private:
  struct Node {
    uint32_t number = 0;
    std::string utf16_name;
    OptionalFile meminfo;
    OptionalFile numastat;
  };

  void List();

  const std::string root_;
  Periodic list_{/*seconds=*/60};
  std::vector<Node> nodes_;
  std::string buffer_;
  KeyedText meminfo_;
  KeyedText numastat_;
  Totals totals_;
  const std::string utf16_total_name_;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_MEMORY_NUMA_NODE_MEMORY_H_
