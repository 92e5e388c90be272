// Counts of TCP sockets by state, from the kernel's socket diagnostics
// (NETLINK_SOCK_DIAG).

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_NETWORK_TCP_DIAGNOSTICS_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_NETWORK_TCP_DIAGNOSTICS_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace fleetperf::agent {

struct TcpCounts {
  // By the kernel's number: TCP_ESTABLISHED, which is 1, to TCP_CLOSING.
  static constexpr size_t kNumStates = 12;
  std::array<uint64_t, kNumStates> sockets = {};
  // Bytes that programs have not read, and that were not acknowledged.
  uint64_t receive_queue_bytes = 0;
  uint64_t send_queue_bytes = 0;
  // Connections that programs have not accepted, and the listening sockets that
  // refuse further ones.
  uint64_t accept_queue = 0;
  uint64_t full_accept_queues = 0;

  bool operator==(const TcpCounts&) const = default;
};

// Connections over IPv4 of sockets of IPv6 count as IPv4.
struct TcpCountsByFamily {
  TcpCounts v4;
  TcpCounts v6;
};

// Counts the sockets of the process's network namespace. Takes time in
// proportion to the size of the kernel's table and the number of sockets: about
// 1 us for each, including those in TIME-WAIT.
// Returns NotFound if the kernel has no diagnostics of TCP.
absl::StatusOr<TcpCountsByFamily> CountTcpSockets();

// Adds the sockets in `messages`, which are replies of the kernel to a dump.
// Returns whether the last reply is among them, or the kernel's error.
absl::StatusOr<bool> AddTcpSockets(absl::string_view messages,
                                   TcpCountsByFamily* counts);

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_NETWORK_TCP_DIAGNOSTICS_H_
