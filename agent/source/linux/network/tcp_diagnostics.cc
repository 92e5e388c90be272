#include "agent/source/linux/network/tcp_diagnostics.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "absl/cleanup/cleanup.h"
#include "base/os/os_error.h"
#include "base/status_macros.h"

namespace fleetperf::agent {
namespace {

// The kernel fills replies of a dump up to this size.
constexpr size_t kReplySize = 32768;
// The kernel's errors are between this and 1, negated.
constexpr int kMaxErrno = 4095;

absl::Status SocketError(absl::string_view what) {
  return StatusFromErrno(errno, what);
}

template <typename T>
bool ReadStruct(absl::string_view bytes, T* value) {
  if (bytes.size() < sizeof(T)) return false;
  std::memcpy(value, bytes.data(), sizeof(T));
  return true;
}

bool IsV4(const inet_diag_msg& socket) {
  const auto& words = socket.id.idiag_src;
  return socket.idiag_family == AF_INET ||
         (words[0] == 0 && words[1] == 0 && words[2] == htonl(0xFFFF));
}

void AddSocket(const inet_diag_msg& socket, TcpCountsByFamily* counts) {
  TcpCounts& family = IsV4(socket) ? counts->v4 : counts->v6;
  if (socket.idiag_state >= TcpCounts::kNumStates) return;
  ++family.sockets[socket.idiag_state];
  if (socket.idiag_state == TCP_LISTEN) {
    // The connections that wait, and their limit.
    family.accept_queue += socket.idiag_rqueue;
    if (socket.idiag_rqueue > socket.idiag_wqueue) ++family.full_accept_queues;
  } else {
    family.receive_queue_bytes += socket.idiag_rqueue;
    family.send_queue_bytes += socket.idiag_wqueue;
  }
}

absl::Status Dump(int netlink, uint8_t family, std::string* buffer,
                  TcpCountsByFamily* counts) {
  struct {
    nlmsghdr header;
    inet_diag_req_v2 request;
  } message = {};
  message.header.nlmsg_len = sizeof(message);
  message.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  message.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  message.request.sdiag_family = family;
  message.request.sdiag_protocol = IPPROTO_TCP;
  message.request.idiag_states = ~uint32_t{0};
  if (send(netlink, &message, sizeof(message), 0) < 0) {
    return SocketError("cannot ask for TCP sockets");
  }
  for (bool is_done = false; !is_done;) {
    const ssize_t size = recv(netlink, buffer->data(), buffer->size(), 0);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return SocketError("cannot receive TCP sockets");
    ASSIGN_OR_RETURN(is_done, AddTcpSockets(absl::string_view(*buffer).substr(
                                                0, static_cast<size_t>(size)),
                                            counts));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<TcpCountsByFamily> CountTcpSockets() {
  const int netlink =
      socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
  if (netlink < 0) return SocketError("cannot open the socket diagnostics");
  const absl::Cleanup closer = [netlink] { close(netlink); };
  TcpCountsByFamily counts;
  std::string buffer(kReplySize, '\0');
  RETURN_IF_ERROR(Dump(netlink, AF_INET, &buffer, &counts));
  const absl::Status v6 = Dump(netlink, AF_INET6, &buffer, &counts);
  // A kernel can lack IPv6.
  if (!absl::IsNotFound(v6)) RETURN_IF_ERROR(v6);
  return counts;
}

absl::StatusOr<bool> AddTcpSockets(absl::string_view messages,
                                   TcpCountsByFamily* counts) {
  nlmsghdr header;
  while (ReadStruct(messages, &header)) {
    if (header.nlmsg_len < NLMSG_HDRLEN || header.nlmsg_len > messages.size()) {
      break;
    }
    const absl::string_view payload =
        messages.substr(NLMSG_HDRLEN, header.nlmsg_len - NLMSG_HDRLEN);
    if (header.nlmsg_type == NLMSG_DONE) return true;
    nlmsgerr error;
    if (header.nlmsg_type == NLMSG_ERROR && ReadStruct(payload, &error)) {
      const bool is_errno = error.error < 0 && error.error >= -kMaxErrno;
      return StatusFromErrno(is_errno ? -error.error : EPROTO,
                             "cannot list TCP sockets");
    }
    inet_diag_msg socket;
    if (header.nlmsg_type == SOCK_DIAG_BY_FAMILY &&
        ReadStruct(payload, &socket)) {
      AddSocket(socket, counts);
    }
    messages.remove_prefix(
        std::min<size_t>(NLMSG_ALIGN(header.nlmsg_len), messages.size()));
  }
  if (!messages.empty()) {
    return absl::DataLossError("a reply with TCP sockets is cut off");
  }
  return false;
}

}  // namespace fleetperf::agent
