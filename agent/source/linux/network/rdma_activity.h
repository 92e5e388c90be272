// The counterset "RDMA Activity": the ports of InfiniBand, RoCE and iWARP
// adapters, from /sys/class/infiniband. Instances are "device:port".

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_NETWORK_RDMA_ACTIVITY_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_NETWORK_RDMA_ACTIVITY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "agent/source/linux/counters.h"
#include "agent/source/linux/periodic.h"
#include "agent/source/linux/proc_file.h"
#include "agent/source/provider.h"

namespace fleetperf::agent {

class RdmaActivity : public Provider {
 public:
  static const LinuxCounterset kCounterset;

  // `root` is the directory that holds sys: "" on a real machine.
  explicit RdmaActivity(const std::string& root);

  absl::Status Sample(ColumnSet needed, const perflib::Clocks& clocks,
                      CountersetSample* sample) override;

 private:
  // A file with a number.
  struct Number {
    ProcFile file;
    size_t column;
    uint64_t factor;
  };
  struct Port {
    std::string directory;
    uint32_t id;  // of this life of the port
    std::string utf16_name;
    std::vector<Number> numbers;  // that the driver provides
  };

  // Keeps the open files of ports that are still there.
  void FindPorts();
  static Port OpenPort(const std::string& directory, uint32_t id,
                       absl::string_view name);
  // Returns false if the port has vanished.
  bool ReadPort(Port& port, ColumnSet needed, CountersetSample* sample);

  const std::string directory_;
  std::vector<Port> ports_;
  Periodic list_{/*seconds=*/30};
  std::string buffer_;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_NETWORK_RDMA_ACTIVITY_H_
