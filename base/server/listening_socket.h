// Listening sockets.

#ifndef FLEETPERF_BASE_SERVER_LISTENING_SOCKET_H_
#define FLEETPERF_BASE_SERVER_LISTENING_SOCKET_H_

#include <sys/socket.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace fleetperf {

// Owns a file descriptor, or none (-1). Closes it on destruction.
// Thread-compatible.
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
  // Closes the descriptor and takes ownership of `fd`.
  void Reset(int fd = -1);

 private:
  int fd_;
};

// Listens at "host:port" and returns one non-blocking socket for each address
// of the host, all with the same port. Port 0 selects any free port. An empty
// host, 0.0.0.0 and [::] stand for all addresses of both families. Skips
// addresses that this machine does not have. Returns Unavailable if the port is
// in use or no address can be bound.
absl::StatusOr<std::vector<OwnedFd>> ListenAt(const std::string& host_port);

// Returns the address that a socket is bound to.
sockaddr_storage BoundAddress(int fd);

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_SERVER_LISTENING_SOCKET_H_
