#include "base/server/listening_socket.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace fleetperf {
namespace {

// The system may reduce it to its own limit (net.core.somaxconn).
constexpr int kBacklog = 65'535;
// The time after which a connection with unacknowledged data is closed.
constexpr int kUserTimeoutMs = 10'000;
// The time that a connection has for its first bytes before it is accepted all
// the same. Clients send at once; silent connections cost nothing until then.
constexpr int kDeferSeconds = 1;

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

absl::Status CannotListen(const std::string& host_port,
                          absl::string_view reason) {
  return absl::UnavailableError(
      absl::StrCat("cannot listen on ", host_port, ": ", reason));
}

std::string ReasonOf(int error) {
  switch (error) {
    case EADDRINUSE:
      return "the port is in use by another process";
    case EADDRNOTAVAIL:
      return "the address does not belong to this machine";
    default:
      return std::strerror(error);
  }
}

// Splits "host:port" or "[host]:port".
std::pair<std::string, std::string> Split(const std::string& host_port) {
  const size_t colon = host_port.rfind(':');
  absl::string_view host = absl::string_view(host_port).substr(0, colon);
  if (absl::ConsumePrefix(&host, "[")) absl::ConsumeSuffix(&host, "]");
  return {std::string(host), host_port.substr(colon + 1)};
}

Addresses Resolve(const std::string& host, const std::string& port,
                  int* error) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  *error = getaddrinfo(host.c_str(), port.c_str(), &hints, &found);
  return Addresses(*error == 0 ? found : nullptr, freeaddrinfo);
}

void SetOption(int fd, int level, int option, int value) {
  setsockopt(fd, level, option, &value, sizeof value);
}

void SetPort(sockaddr_storage* address, in_port_t port) {
  if (address->ss_family == AF_INET6) {
    reinterpret_cast<sockaddr_in6*>(address)->sin6_port = port;
  } else {
    reinterpret_cast<sockaddr_in*>(address)->sin_port = port;
  }
}

in_port_t PortOf(const sockaddr_storage& address) {
  return address.ss_family == AF_INET6
             ? reinterpret_cast<const sockaddr_in6&>(address).sin6_port
             : reinterpret_cast<const sockaddr_in&>(address).sin_port;
}

// Opens a listening socket. Accepted connections inherit its options. If the
// result has no descriptor, errno has the reason.
OwnedFd OpenSocket(const sockaddr_storage& address, socklen_t size) {
  OwnedFd fd(
      socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (fd.get() < 0) return fd;
  SetOption(fd.get(), SOL_SOCKET, SO_REUSEADDR, 1);
  SetOption(fd.get(), IPPROTO_TCP, TCP_NODELAY, 1);
  SetOption(fd.get(), IPPROTO_TCP, TCP_USER_TIMEOUT, kUserTimeoutMs);
  SetOption(fd.get(), IPPROTO_TCP, TCP_DEFER_ACCEPT, kDeferSeconds);
  if (address.ss_family == AF_INET6) {
    SetOption(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, 0);
  }
  if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), size) != 0 ||
      listen(fd.get(), kBacklog) != 0) {
    const int error = errno;
    fd.Reset();
    errno = error;
  }
  return fd;
}

// Opens a socket at each address that this machine has. Sets `*error` to the
// error of the last address that failed. Returns no sockets if the port is in
// use at any of them.
std::vector<OwnedFd> OpenSockets(const addrinfo* addresses, int* error) {
  std::vector<OwnedFd> sockets;
  for (; addresses != nullptr; addresses = addresses->ai_next) {
    sockaddr_storage address = {};
    std::memcpy(&address, addresses->ai_addr, addresses->ai_addrlen);
    if (!sockets.empty()) {
      SetPort(&address, PortOf(BoundAddress(sockets.front().get())));
    }
    OwnedFd fd = OpenSocket(address, addresses->ai_addrlen);
    if (fd.get() >= 0) {
      sockets.push_back(std::move(fd));
      continue;
    }
    *error = errno;
    if (errno == EADDRINUSE) return {};
  }
  return sockets;
}

}  // namespace

void OwnedFd::Reset(int fd) {
  if (fd_ >= 0) close(fd_);
  fd_ = fd;
}

absl::StatusOr<std::vector<OwnedFd>> ListenAt(const std::string& host_port) {
  const auto [name, port] = Split(host_port);
  const bool is_any = name.empty() || name == "0.0.0.0" || name == "::";
  std::vector<std::string> hosts = {name};
  // The second is for machines without IPv6.
  if (is_any) hosts = {"::", "0.0.0.0"};
  int error = 0;
  for (const std::string& host : hosts) {
    int resolve_error = 0;
    const Addresses addresses = Resolve(host, port, &resolve_error);
    if (resolve_error != 0) {
      return CannotListen(host_port, gai_strerror(resolve_error));
    }
    std::vector<OwnedFd> sockets = OpenSockets(addresses.get(), &error);
    if (!sockets.empty()) return sockets;
    if (error == EADDRINUSE) break;
  }
  return CannotListen(host_port, ReasonOf(error));
}

sockaddr_storage BoundAddress(int fd) {
  sockaddr_storage address = {};
  socklen_t size = sizeof address;
  getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  return address;
}

}  // namespace fleetperf
