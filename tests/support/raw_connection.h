// TCP connections that send nothing of their own accord.

#ifndef FLEETPERF_TESTS_SUPPORT_RAW_CONNECTION_H_
#define FLEETPERF_TESTS_SUPPORT_RAW_CONNECTION_H_

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string>
#include <utility>

namespace fleetperf::testing {

// A connection from a loopback address to a port at 127.0.0.1. The constructor
// blocks until the connection is open or has failed.
class RawConnection {
 public:
  explicit RawConnection(int port, const std::string& from = "127.0.0.1")
      : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const sockaddr_in source = Address(from, 0);
    const sockaddr_in target = Address("127.0.0.1", port);
    is_open_ = bind(fd_, reinterpret_cast<const sockaddr*>(&source),
                    sizeof source) == 0 &&
               connect(fd_, reinterpret_cast<const sockaddr*>(&target),
                       sizeof target) == 0;
  }
  RawConnection(RawConnection&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)), is_open_(other.is_open_) {}
  RawConnection& operator=(RawConnection&&) = delete;
  ~RawConnection() {
    if (fd_ >= 0) close(fd_);
  }

  bool is_open() const { return is_open_; }
  void SendByte() const { send(fd_, "", 1, MSG_NOSIGNAL); }
  int fd() const { return fd_; }

  // Returns whether the peer closes the connection within a minute without
  // sending a byte.
  bool WaitUntilClosed() const {
    constexpr timeval kReadTimeout = {.tv_sec = 60};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &kReadTimeout,
               sizeof kReadTimeout);
    char byte;
    const ssize_t size = recv(fd_, &byte, 1, 0);
    return size == 0 || (size < 0 && errno != EAGAIN);
  }

 private:
  static sockaddr_in Address(const std::string& host, int port) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    inet_pton(AF_INET, host.c_str(), &address.sin_addr);
    return address;
  }

  int fd_;
  bool is_open_;
};

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_SUPPORT_RAW_CONNECTION_H_
