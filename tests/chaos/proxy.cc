#include "tests/chaos/proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>

#include "absl/strings/str_cat.h"

namespace fleetperf::testing {
namespace {

constexpr int kPollMilliseconds = 20;
constexpr size_t kMaxWaiting = 64 << 10;
// Bytes per poll and direction of a slow connection.
constexpr size_t kSlowBytes = 200;

sockaddr_in Loopback(int port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// Closes a connection with a reset, as the kernel does for a dead process.
void Reset(int fd) {
  const linger now = {.l_onoff = 1, .l_linger = 0};
  setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  close(fd);
}

}  // namespace

Proxy::Connection::~Connection() {
  for (const int fd : fds) Reset(fd);
}

Proxy::Proxy(int target, const std::string& source)
    : target_(target), source_(source) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  sockaddr_in address = Loopback(0);
  socklen_t size = sizeof address;
  if (bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      listen(listener_, 64) != 0 ||
      getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size)) {
    throw std::runtime_error("cannot listen on a port for the proxy");
  }
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { Run(); });
}

Proxy::~Proxy() {
  stopping_ = true;
  thread_.join();
  close(listener_);
}

std::string Proxy::address() const { return absl::StrCat("127.0.0.1:", port_); }

void Proxy::Run() {
  while (!stopping_) {
    const Mode mode = mode_;
    if (mode == Mode::kCut) connections_.clear();
    std::vector<pollfd> wanted = {{.fd = listener_, .events = POLLIN}};
    if (mode == Mode::kPass) {
      for (const auto& connection : connections_) {
        for (const Direction& direction : connection->directions) {
          const short events =
              direction.ended || direction.waiting.size() >= kMaxWaiting
                  ? 0
                  : POLLIN;
          wanted.push_back({.fd = direction.from, .events = events});
        }
      }
    }
    poll(wanted.data(), wanted.size(), kPollMilliseconds);
    Accept();
    if (mode != Mode::kPass && mode != Mode::kSlow) continue;
    for (const auto& connection : connections_) {
      for (Direction& direction : connection->directions) {
        Forward(direction, mode == Mode::kSlow ? kSlowBytes : kMaxWaiting,
                &connection->broken);
      }
      // Half-closed connections do not occur: gRPC closes both ways.
      connection->broken = connection->broken ||
                           (connection->directions[0].ended &&
                            connection->directions[0].waiting.empty()) ||
                           (connection->directions[1].ended &&
                            connection->directions[1].waiting.empty());
    }
    std::erase_if(connections_,
                  [](const auto& connection) { return connection->broken; });
  }
  connections_.clear();
}

void Proxy::Accept() {
  for (;;) {
    const int client =
        accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (client < 0) return;
    if (mode_ == Mode::kCut) {
      Reset(client);
      continue;
    }
    const int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in source = Loopback(0);
    inet_pton(AF_INET, source_.c_str(), &source.sin_addr);
    const sockaddr_in address = Loopback(target_);
    if (bind(server, reinterpret_cast<sockaddr*>(&source), sizeof source) !=
            0 ||
        connect(server, reinterpret_cast<const sockaddr*>(&address),
                sizeof address) != 0) {
      Reset(server);
      Reset(client);
      continue;
    }
    const int enabled = 1;
    for (const int fd : {client, server}) {
      setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &enabled, sizeof enabled);
    }
    auto connection = std::make_unique<Connection>();
    connection->fds[0] = client;
    connection->fds[1] = server;
    connection->directions[0] = {.from = client, .to = server};
    connection->directions[1] = {.from = server, .to = client};
    connections_.push_back(std::move(connection));
  }
}

void Proxy::Forward(Direction& direction, size_t max_size, bool* broken) {
  char buffer[16 << 10];
  size_t taken = 0;
  while (!direction.ended && taken < max_size &&
         direction.waiting.size() < kMaxWaiting) {
    const ssize_t size =
        recv(direction.from, buffer, std::min(sizeof buffer, max_size - taken),
             MSG_DONTWAIT);
    if (size < 0 && errno == EAGAIN) break;
    if (size < 0) *broken = true;
    if (size <= 0) direction.ended = true;
    if (size <= 0) break;
    direction.waiting.append(buffer, static_cast<size_t>(size));
    taken += static_cast<size_t>(size);
  }
  if (direction.waiting.empty()) return;
  const ssize_t size = send(direction.to, direction.waiting.data(),
                            std::min(direction.waiting.size(), max_size),
                            MSG_DONTWAIT | MSG_NOSIGNAL);
  if (size > 0) direction.waiting.erase(0, static_cast<size_t>(size));
  if (size < 0 && errno != EAGAIN) *broken = true;
}

}  // namespace fleetperf::testing
