// The counterset "Linux Conntrack": the table of connections that the packet
// filter tracks in the agent's network namespace.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_NETWORK_LINUX_CONNTRACK_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_NETWORK_LINUX_CONNTRACK_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "agent/source/linux/counters.h"
#include "agent/source/linux/periodic.h"
#include "agent/source/linux/proc_file.h"
#include "agent/source/linux/wrapping_counter.h"
#include "agent/source/provider.h"

namespace fleetperf::agent {

class LinuxConntrack : public Provider {
 public:
  static const LinuxCounterset kCounterset;

  // `root` is the directory that holds proc: "" on a real machine.
  explicit LinuxConntrack(const std::string& root);

  absl::Status Sample(ColumnSet needed, const perflib::Clocks& clocks,
                      CountersetSample* sample) override;

 private:
  struct Position {
    size_t word;  // of a line
    size_t column;
  };

  absl::Status ReadCount(CountersetSample* sample);
  void AddLimit(const perflib::Clocks& clocks, CountersetSample* sample);
  absl::Status ReadStatistics(CountersetSample* sample);
  void Locate(absl::string_view names);
  void AddCpu(size_t cpu, absl::string_view line, CountersetSample* sample);

  ProcFile count_;
  const std::string max_path_;
  Periodic read_max_{/*seconds=*/10};
  std::optional<uint64_t> limit_;
  ProcFile statistics_;
  std::string buffer_;
  // The first line of the statistics, and the places of the columns in it in
  // ascending order.
  std::string names_;
  std::vector<Position> positions_;
  // For each CPU, the numbers at `positions_`.
  std::vector<std::vector<WrappingCounter>> cpus_;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_NETWORK_LINUX_CONNTRACK_H_
