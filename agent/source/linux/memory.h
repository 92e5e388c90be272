// The counterset "Memory", from /proc/meminfo and /proc/vmstat.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_MEMORY_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_MEMORY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "agent/source/linux/proc_file.h"
#include "agent/source/provider.h"

namespace fleetperf::agent {

class Memory : public Provider {
 public:
  // `root` is the directory that holds proc: "" on a real machine.
  explicit Memory(const std::string& root);

  absl::Status Sample(ColumnSet needed, const perflib::Clocks& clocks,
                      CountersetSample* sample) override;

 private:
  ProcFile meminfo_;
  ProcFile vmstat_;
  std::string buffer_;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_MEMORY_H_
