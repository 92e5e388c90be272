// The counterset "Linux TCP Connection": TCP sockets by state. Its cost grows
// with the number of sockets, so it is meant for plans with long intervals.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_NETWORK_LINUX_TCP_CONNECTION_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_NETWORK_LINUX_TCP_CONNECTION_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/source/linux/counters.h"
#include "agent/source/linux/network/tcp_diagnostics.h"
#include "agent/source/provider.h"

namespace fleetperf::agent {

class LinuxTcpConnection : public Provider {
 public:
  static const LinuxCounterset kCounterset;

  using Count = std::function<absl::StatusOr<TcpCountsByFamily>()>;

  explicit LinuxTcpConnection(Count count = &CountTcpSockets);

  absl::Status Sample(ColumnSet needed, const perflib::Clocks& clocks,
                      CountersetSample* sample) override;

 private:
  const Count count_;
  const std::string utf16_v4_name_;
  const std::string utf16_v6_name_;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_NETWORK_LINUX_TCP_CONNECTION_H_
