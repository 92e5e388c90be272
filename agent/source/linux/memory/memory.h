// The counterset "Memory", from /proc/meminfo and /proc/vmstat.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_MEMORY_MEMORY_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_MEMORY_MEMORY_H_

#include <string>

#include "absl/status/status.h"
#include "agent/source/linux/counters.h"
#include "agent/source/linux/keyed_file.h"
#include "agent/source/provider.h"

namespace fleetperf::agent {

class Memory : public Provider {
 public:
  static const LinuxCounterset kCounterset;

  // `root` is the directory that holds proc: "" on a real machine.
  explicit Memory(const std::string& root);

  absl::Status Sample(ColumnSet needed, const perflib::Clocks& clocks,
                      CountersetSample* sample) override;

 private:
  KeyedFile meminfo_;
  KeyedFile vmstat_;
  std::string buffer_;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_MEMORY_MEMORY_H_
