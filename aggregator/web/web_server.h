// The page's server: HTTPS on a port of its own.

#ifndef FLEETPERF_AGGREGATOR_WEB_WEB_SERVER_H_
#define FLEETPERF_AGGREGATOR_WEB_WEB_SERVER_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "aggregator/web/connection.h"
#include "aggregator/web/router.h"
#include "aggregator/web/tls.h"
#include "aggregator/web/waker.h"
#include "base/os/clock.h"
#include "base/server/caller_quota.h"
#include "base/server/client_certificates.h"
#include "base/server/connection_table.h"
#include "base/server/listener.h"

namespace fleetperf::aggregator::web {

// The limits of connections, which browsers open six of. The port of agents
// takes its three quarters of the descriptors, and the store needs most of the
// rest.
inline constexpr ConnectionLimits kWebConnections = {
    .max = 2048,
    .max_per_address = 0,
    .max_unauthenticated = 512,
    .sixteenths_of_descriptors = 1};

// One thread accepts connections, one serves all of them; the listener's probes
// have a third. Thread-safe, except for destruction.
class WebServer {
 public:
  struct Options {
    std::string listen;        // "host:port"; port 0 selects any free port
    std::string address_file;  // if set, receives the address
    ConnectionLimits limits = kWebConnections;
  };

  // `quota` and `router` must outlive the server. Returns Unavailable if the
  // address cannot be bound.
  static absl::StatusOr<std::unique_ptr<WebServer>> Start(
      const Options& options, std::unique_ptr<TlsServer> tls,
      std::shared_ptr<ClientCertificates> clients, CallerQuota* quota,
      Router* router);
  // Closes all connections.
  ~WebServer();

  // "host:port", with the port that was chosen.
  const std::string& address() const { return address_; }

  ConnectionCounts CountConnections() { return listener_->Count(); }
  // The answers in progress that go on for ever.
  uint64_t streams() const {
    return static_cast<uint64_t>(quota_.counts(Pool::kPageViewers).held);
  }

 private:
  struct Accepted;

  WebServer(std::unique_ptr<TlsServer> tls,
            std::shared_ptr<ClientCertificates> clients, CallerQuota* quota,
            Router* router);

  void Run();
  void Adopt();
  // Returns whether the connection's TLS handshake is in progress.
  bool IsInHandshake(uint64_t number) const;
  // Advances a connection, or ends it.
  void Advance(uint64_t number);
  void HangUp(uint64_t number);
  void SetInterest(uint64_t number, const Connection& connection);
  void EndLate();

  const std::unique_ptr<TlsServer> tls_;
  const std::shared_ptr<ClientCertificates> clients_;
  CallerQuota& quota_;
  Router& router_;
  std::string address_;
  std::unique_ptr<Listener> listener_;
  const std::shared_ptr<Waker> waker_;
  const std::unique_ptr<Accepted> accepted_;
  std::atomic<bool> is_stopping_ = false;

  // Used only by the thread that serves.
  OwnedFd epoll_;
  struct Entry {
    std::unique_ptr<Connection> connection;
    Connection::Interest interest;
    bool is_identified = false;
  };
  absl::flat_hash_map<uint64_t, Entry> connections_;
  uint64_t last_number_ = 0;

  std::thread thread_;
};

}  // namespace fleetperf::aggregator::web

#endif  // FLEETPERF_AGGREGATOR_WEB_WEB_SERVER_H_
