// Sockets that listen.

#ifndef FLEETPERF_AGGREGATOR_RPC_LISTENING_SOCKET_H_
#define FLEETPERF_AGGREGATOR_RPC_LISTENING_SOCKET_H_

#include <sys/socket.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace fleetperf::aggregator {

// A descriptor, closed when this goes.
class OwnedFd {
 public:
  explicit OwnedFd(int fd = -1) : fd_(fd) {}
  OwnedFd(OwnedFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  OwnedFd& operator=(OwnedFd&& other) noexcept {
    Reset(std::exchange(other.fd_, -1));
    return *this;
  }
  ~OwnedFd() { Reset(); }

  int get() const { return fd_; }
  void Reset(int fd = -1);

 private:
  int fd_;
};

// Listens at "host:port": at each address that the host's name has, at one port
// for all; port 0 is any that is free. 0.0.0.0 and [::] are all addresses of
// both families. The sockets do not block. Unavailable if the port cannot be
// had.
absl::StatusOr<std::vector<OwnedFd>> ListenAt(const std::string& host_port);

// Where a socket is bound.
sockaddr_storage BoundAddress(int fd);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_RPC_LISTENING_SOCKET_H_
