// Accepts connections reliably.
//
// gRPC's own listener stops permanently when the process has no descriptor
// left. This listener limits the number of connections (connection_table.h), so
// that descriptors do not run out. If they do, it uses a reserved descriptor to
// accept and reset connections, so that none is stuck in the system's queue.
//
// Two threads:
// - One accepts connections and reopens the sockets after an error.
// - The other periodically connects to the listener's own port. If the
//   connection is not accepted in time, it has the first thread reopen the
//   sockets.

#ifndef FLEETPERF_BASE_SERVER_LISTENER_H_
#define FLEETPERF_BASE_SERVER_LISTENER_H_

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
#include "base/server/connection_table.h"
#include "base/server/listening_socket.h"
#include "base/wakeup.h"

namespace fleetperf {

// Thread-safe, except for Start, Stop and destruction.
class Listener {
 public:
  // Takes ownership of a connection's descriptor, which is non-blocking. Called
  // by the thread that accepts, one connection at a time.
  using Handler =
      std::function<void(int listening_fd, int fd, const Peer& peer)>;

  // The interval at which the listener connects to itself, and the time that it
  // waits for the connection to be accepted.
  struct Probes {
    absl::Duration every = absl::Seconds(30);
    absl::Duration patience = absl::Seconds(10);
  };

  // Listens at "host:port" (see ListenAt, also for errors). Accepts no
  // connections until Start. Reduces `limits` to the process's descriptor
  // limit.
  static absl::StatusOr<std::unique_ptr<Listener>> Open(
      const std::string& host_port, const ConnectionLimits& limits);
  // Calls Stop.
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // Starts to accept connections. Must be called at most once.
  void Start(Handler handler, const Probes& probes);

  // Stops accepting connections and joins both threads. Accepted connections
  // stay open.
  void Stop();

  int port() const { return port_; }
  ConnectionTable& connections() { return connections_; }
  ConnectionCounts Count();

  // The number of times that the listener did not accept its own connection.
  // Each time is logged, and the listening sockets are reopened.
  int64_t failed_probes() const { return failed_probes_; }

 private:
  Listener(const std::string& host_port, const ConnectionLimits& limits,
           std::vector<OwnedFd> sockets);

  // Called by the thread that accepts.
  void Run();
  bool ShouldStop();
  void WaitForConnections();
  void AcceptFrom(int listening_fd);
  void HandleConnection(int listening_fd, int fd,
                        const sockaddr_storage& address);
  void HandleError(int listening_fd, int error);
  void RefuseForDescriptors(int listening_fd);
  void LogRefusal(Refusal refusal, const std::string& address);
  void Reopen();

  // Called by the thread that probes.
  void RunProbes(Probes probes);
  // Returns false if the listener did not accept the connection in time.
  bool Probe(absl::Duration patience);

  void WakeUp();

  const int port_;
  const std::string host_port_;  // with the port that was chosen
  ConnectionTable connections_;
  const OwnedFd wake_up_;  // an eventfd
  Handler handler_;

  // Used only by the thread that accepts.
  std::vector<OwnedFd> sockets_;
  std::vector<pollfd> polled_;  // sockets_, then wake_up_
  OwnedFd reserve_;
  absl::Duration pause_ = absl::ZeroDuration();  // before the next attempt
  bool is_broken_ = false;  // whether sockets_ must be reopened
  struct Logged {
    absl::Duration at = -absl::InfiniteDuration();  // of the last message
    int64_t since = 0;                              // refusals since then
  };
  Logged logged_[kRefusals];

  std::atomic<bool> must_reopen_ = false;
  std::atomic<int64_t> failed_probes_ = 0;
  absl::Mutex mutex_;
  Wakeup changed_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  sockaddr_storage probed_ ABSL_GUARDED_BY(mutex_) = {};  // address to probe
  Peer probe_ ABSL_GUARDED_BY(mutex_);  // the pending probe's own end
  bool probe_accepted_ ABSL_GUARDED_BY(mutex_) = false;

  std::thread accepting_;
  std::thread probing_;
};

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_SERVER_LISTENER_H_
