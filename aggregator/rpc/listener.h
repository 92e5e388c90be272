// Accepts connections, whatever happens.
//
// gRPC's own listener stops for good when the process has no descriptor left.
// This one keeps a descriptor in reserve, with which it accepts and closes what
// there is no room for, so that nothing is stuck in the system's queue; and it
// has limits, so that it does not come to that (connection_table.h).

#ifndef FLEETPERF_AGGREGATOR_RPC_LISTENER_H_
#define FLEETPERF_AGGREGATOR_RPC_LISTENER_H_

#include <poll.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "aggregator/rpc/connection_table.h"
#include "aggregator/rpc/listening_socket.h"
#include "base/wakeup.h"

namespace fleetperf::aggregator {

// Thread-safe.
class Listener {
 public:
  // Gets a connection and owns its descriptor, which does not block. Called by
  // the thread that accepts.
  using Take = std::function<void(int listening_fd, int fd)>;

  // How it finds out whether it still accepts: it connects to itself.
  struct Probes {
    absl::Duration every = absl::Seconds(30);
    absl::Duration patience = absl::Seconds(10);
  };

  // Listens at "host:port" (listening_socket.h). Accepts nothing yet.
  static absl::StatusOr<std::unique_ptr<Listener>> Open(
      const std::string& host_port, const ConnectionLimits& limits);
  // Stops.
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // Once.
  void Start(Take take, const Probes& probes);

  // No connection is taken any more. Those that were stay as they are.
  void Stop();

  int port() const { return port_; }
  ConnectionTable& connections() { return connections_; }
  ConnectionCounts Count();

  // How often it did not accept its own connection. Each is logged, and the
  // sockets that listen are opened again.
  int64_t failed_probes() const { return failed_probes_; }

 private:
  Listener(const std::string& host_port, const ConnectionLimits& limits,
           std::vector<OwnedFd> sockets);

  // The thread that accepts.
  void Run();
  bool ShouldStop();
  void WaitForConnections();
  void AcceptFrom(int listening_fd);
  void TakeUp(int listening_fd, int fd, const sockaddr_storage& address);
  void HandleError(int listening_fd, int error);
  void RefuseForDescriptors(int listening_fd);
  void LogRefusal(Refusal refusal, const std::string& address);
  void Reopen();

  // The thread that connects.
  void RunProbes(Probes probes);
  bool Probe(absl::Duration patience);

  void WakeUp();

  const int port_;
  const std::string host_port_;  // with the port that was chosen
  ConnectionTable connections_;
  const OwnedFd wake_up_;  // an eventfd
  Take take_;

  // Of the thread that accepts.
  std::vector<OwnedFd> sockets_;
  std::vector<pollfd> polled_;  // sockets_, then wake_up_
  OwnedFd reserve_;
  absl::Duration pause_ = absl::ZeroDuration();  // before the next try
  bool is_broken_ = false;                       // sockets_ are
  struct Logged {
    absl::Duration at = -absl::InfiniteDuration();
    int64_t since = 0;
  };
  Logged logged_[kRefusals];

  std::atomic<bool> must_reopen_ = false;
  std::atomic<int64_t> failed_probes_ = 0;
  absl::Mutex mutex_;
  Wakeup changed_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  sockaddr_storage probed_ ABSL_GUARDED_BY(mutex_) = {};  // where it listens
  Peer probe_ ABSL_GUARDED_BY(mutex_);  // the connection that is waited for
  bool probe_accepted_ ABSL_GUARDED_BY(mutex_) = false;

  std::thread accepting_;
  std::thread probing_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_RPC_LISTENER_H_
