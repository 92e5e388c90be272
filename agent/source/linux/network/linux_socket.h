// The counterset "Linux Socket": the sockets of the agent's network namespace,
// from /proc/net/sockstat and sockstat6, and their limits.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_NETWORK_LINUX_SOCKET_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_NETWORK_LINUX_SOCKET_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "agent/source/linux/counters.h"
#include "agent/source/linux/periodic.h"
#include "agent/source/linux/proc_file.h"
#include "agent/source/provider.h"

namespace fleetperf::agent {

class LinuxSocket : public Provider {
 public:
  static const LinuxCounterset kCounterset;

  // `root` is the directory that holds proc: "" on a real machine.
  explicit LinuxSocket(const std::string& root);

  absl::Status Sample(ColumnSet needed, const perflib::Clocks& clocks,
                      CountersetSample* sample) override;

 private:
  // Does nothing if there is no such file.
  void ReadSockets(ProcFile& file, CountersetSample* sample);

  const uint64_t page_size_;
  ProcFile sockstat_;
  ProcFile sockstat6_;
  const std::string tcp_limits_path_;
  const std::string udp_limits_path_;
  Periodic read_limits_{/*seconds=*/10};
  std::optional<uint64_t> tcp_limit_;  // in pages
  std::optional<uint64_t> udp_limit_;
  std::string buffer_;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_NETWORK_LINUX_SOCKET_H_
