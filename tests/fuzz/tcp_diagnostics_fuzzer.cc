// Fuzzes replies of the kernel's socket diagnostics. Each socket that is
// counted has a message of its own, and only sockets have queues.

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <netinet/tcp.h>

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "agent/source/linux/network/tcp_diagnostics.h"
#include "tests/fuzz/check.h"

namespace fleetperf::agent {
namespace {

constexpr size_t kSmallestSocket = NLMSG_HDRLEN + sizeof(inet_diag_msg);

uint64_t Sockets(const TcpCounts& counts) {
  uint64_t sum = 0;
  for (const uint64_t sockets : counts.sockets) sum += sockets;
  return sum;
}

void Check(absl::string_view replies) {
  TcpCountsByFamily counts;
  AddTcpSockets(replies, &counts).IgnoreError();
  const uint64_t sockets = Sockets(counts.v4) + Sockets(counts.v6);
  FUZZ_CHECK(sockets <= replies.size() / kSmallestSocket);
  for (const TcpCounts* family : {&counts.v4, &counts.v6}) {
    FUZZ_CHECK(family->full_accept_queues <= family->sockets[TCP_LISTEN]);
    FUZZ_CHECK(Sockets(*family) != 0 || *family == TcpCounts());
  }
}

}  // namespace
}  // namespace fleetperf::agent

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fleetperf::agent::Check(
      absl::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
