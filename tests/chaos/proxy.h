// A network between two processes that a test can cut, slow down or stall.

#ifndef FLEETPERF_TESTS_CHAOS_PROXY_H_
#define FLEETPERF_TESTS_CHAOS_PROXY_H_

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace fleetperf::testing {

// Forwards TCP connections from a port of its own on 127.0.0.1. One thread
// serves all connections. Thread-compatible.
class Proxy {
 public:
  enum class Mode {
    kPass,
    kCut,       // resets open and new connections
    kHalfOpen,  // accepts connections, but forwards nothing
    kSlow,      // forwards some kilobytes per second
  };

  // `target` is the port to forward to, on 127.0.0.1. Its connections come from
  // `source`, an IPv4 address of the loopback interface.
  explicit Proxy(int target, const std::string& source = "127.0.0.1");
  ~Proxy();

  std::string address() const;
  void Set(Mode mode) { mode_ = mode; }

 private:
  // Bytes that one side has sent and the other has not received yet.
  struct Direction {
    int from;
    int to;
    std::string waiting;
    bool ended = false;
  };
  struct Connection {
    ~Connection();
    Direction directions[2];
    int fds[2];
    bool broken = false;
  };

  void Run();
  void Accept();
  static void Forward(Direction& direction, size_t max_size, bool* broken);

  const int target_;
  const std::string source_;
  int listener_;
  int port_;
  std::atomic<Mode> mode_ = Mode::kPass;
  std::atomic<bool> stopping_ = false;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::thread thread_;
};

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_CHAOS_PROXY_H_
