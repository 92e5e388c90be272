// One connection of a browser: TLS, requests, and their answers one after the
// other.

#ifndef FLEETPERF_AGGREGATOR_WEB_CONNECTION_H_
#define FLEETPERF_AGGREGATOR_WEB_CONNECTION_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "aggregator/web/http_request.h"
#include "aggregator/web/logins.h"
#include "aggregator/web/reply.h"
#include "aggregator/web/router.h"
#include "aggregator/web/tls.h"
#include "base/server/caller_quota.h"
#include "base/server/client_certificates.h"
#include "base/server/listening_socket.h"
#include "base/server/peer.h"

namespace fleetperf::aggregator::web {

// Thread-compatible. Never waits.
class Connection {
 public:
  // The time that a client has for a whole request from its first byte on, and
  // for its next one; the longest time without progress while an answer waits
  // for the client. All waits of an answer last Reply::kMaxWaits, except of one
  // that goes on for ever. Until it has shown who it is, it has kHandshakeTime
  // for all.
  static constexpr absl::Duration kRequestTime = absl::Seconds(20);
  static constexpr absl::Duration kIdleTime = absl::Seconds(75);
  static constexpr absl::Duration kStallTime = absl::Seconds(30);

  // Events that the connection waits for.
  struct Interest {
    bool read = false;
    bool write = false;
    friend bool operator==(const Interest&, const Interest&) = default;
  };

  // `wake` has Advance called, from any thread. `now` is Clock::Monotonic().
  // The router, `clients` and `quota` must outlive the object.
  Connection(OwnedFd fd, const Peer& peer, SSL* ssl, Router* router,
             ClientCertificates* clients, CallerQuota* quota,
             std::function<void()> wake, absl::Duration now);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Does what can be done without waiting. Returns false if the connection is
  // to be destroyed.
  bool Advance(absl::Duration now);
  // Handles the end of the client's bytes. The same.
  bool OnHangUp(absl::Duration now);
  // Returns false if the client has taken too long, or if its certificate, or
  // that of its session, was revoked or has expired. Must be called every
  // second.
  bool MayGoOn(absl::Duration now) const;

  Interest interest() const { return interest_; }
  int fd() const { return fd_.get(); }
  const Peer& peer() const { return peer_; }
  // Whether the TLS handshake is done.
  bool has_handshake() const { return has_handshake_; }
  // Whether the client has shown who it is.
  bool is_identified() const { return is_identified_; }

 private:
  enum class Step { kGoOn, kWait, kEnd };

  Step Handshake();
  Step Read(absl::Duration now);
  Step Write(absl::Duration now);
  Step WriteRest(absl::Duration now);
  // Answers the request, or refuses it. Returns false if its body has to be
  // read first.
  bool Begin(const std::shared_ptr<Reply>& reply);
  // Returns false if it has refused the request, whose head has arrived.
  bool Admit(Reply* reply);
  // Takes what the request and its connection need from the holder's shares.
  absl::Status TakeShares();
  // Has the client send the body.
  Step Continue();
  Step Leave();
  Step Handle(TlsConnection::Result result);
  void SetDeadline(absl::Duration deadline);

  const OwnedFd fd_;
  const Peer peer_;
  Router& router_;
  ClientCertificates& clients_;
  CallerQuota& quota_;
  const std::function<void()> wake_;
  const absl::Duration end_of_strangers_;
  TlsConnection tls_;
  bool has_handshake_ = false;
  bool is_identified_ = false;
  std::optional<Identity> certificate_;
  std::optional<uint64_t> number_;  // at clients_
  // Of a session's connections. Those with a certificate are at clients_.
  CallerQuota::Share share_;
  RequestReader reader_;
  // Of the request and the answer in progress.
  struct Current {
    bool is_admitted = false;
    bool is_stream = false;
    bool has_continued = false;
    std::optional<Identity> holder;
    CallerQuota::Share share;  // of requests or viewers
    std::shared_ptr<Reply> reply;
    std::optional<absl::Duration> waits_since;  // for the client to read
    absl::Duration waited;
  };
  Current current_;
  Reply::Bytes bytes_;
  absl::string_view rest_;   // of bytes_, not written yet
  bool is_leaving_ = false;  // all is written
  Interest interest_;
  absl::Duration request_end_;  // by when the request must have arrived
  absl::Duration deadline_;     // infinite: none
};

}  // namespace fleetperf::aggregator::web

#endif  // FLEETPERF_AGGREGATOR_WEB_CONNECTION_H_
