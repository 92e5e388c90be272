// Which clients may connect, by their certificates, and which are connected.
//
// The TLS handshake checks that an authority has signed a certificate and that
// it is valid. This class also refuses revoked certificates and those that have
// too many connections, and finds the connections whose certificates were
// revoked or expired after the handshake.
// If nothing has confirmed the list of revoked certificates for
// kMaxRevocationAge, it refuses every new connection, because certificates that
// were revoked since then are unknown. Open connections stay.

#ifndef FLEETPERF_BASE_SERVER_CLIENT_CERTIFICATES_H_
#define FLEETPERF_BASE_SERVER_CLIENT_CERTIFICATES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/logging.h"
#include "base/os/clock.h"
#include "base/server/caller_quota.h"
#include "base/server/peer.h"
#include "base/tls/certificate_info.h"
#include "base/tls/certificate_list.h"

namespace fleetperf {

inline constexpr absl::Duration kMaxRevocationAge = absl::Minutes(5);

// Thread-safe.
class ClientCertificates {
 public:
  // The arguments must outlive the object. Connections take shares of
  // Pool::kConnections and Pool::kPageConnections.
  explicit ClientCertificates(const Clock* clock = &Clock::Real(),
                              CallerQuota* quota = &CallerQuota::OfProcess())
      : quota_(*quota), clock_(*clock) {}
  ClientCertificates(const ClientCertificates&) = delete;
  ClientCertificates& operator=(const ClientCertificates&) = delete;

  // Replaces the list of revoked certificates, and confirms it.
  void SetRevoked(const std::vector<ListedCertificate>& revoked);
  // Confirms that the list is current. Without a list, which is never
  // confirmed, no certificate is revoked.
  void ConfirmRevoked();

  // Returns Unavailable, with the next step, if new connections are refused
  // because the list is too old.
  absl::Status CheckRevocations() const;
  // Returns the time since the list was confirmed; zero without a list.
  absl::Duration revocation_age() const;

  // The port of a connection.
  enum class Port { kGrpc, kPage };

  // Adds a connection whose handshake is done, and returns its number. Returns
  // nullopt, counts and logs if the certificate was revoked, has expired, has a
  // weak key or has all its connections, or if the list is too old; the caller
  // then ends the connection.
  std::optional<uint64_t> Add(const Peer& peer,
                              const CertificateInfo& certificate,
                              Port port = Port::kGrpc);
  // Removes a connection that has ended.
  void Remove(uint64_t connection);

  // Sets the limit of connections of a certificate to a port that accepts
  // `connections`: a sixteenth, or an eighth of the page's, because browsers
  // open six each; but no more than by default, and at least 16.
  void SetLimit(Port port, int64_t connections);

  // Returns the open connections to gRPC's port whose certificates were revoked
  // or have expired. The page ends its own, which may come from the same port
  // of a peer. Counts and logs each once, those of the page too.
  std::vector<Peer> FindRefused();

  // Whether a certificate was revoked or has expired by now.
  bool Refuses(const std::string& fingerprint, absl::Time not_after) const;

  // Counts and logs a handshake that failed. `subject` is the common name in
  // the client's certificate, "" if it sent none. Nothing vouches for it.
  void ReportFailedHandshake(const Peer& peer, absl::string_view subject,
                             absl::string_view reason);

  // Totals since the start.
  struct Counts {
    uint64_t failed_handshakes = 0;
    uint64_t refused = 0;   // connections refused or ended for a certificate
    uint64_t too_many = 0;  // refused because the certificate had too many
  };
  Counts counts() const;

 private:
  struct Connection {
    Peer peer;
    Port port = Port::kGrpc;
    std::string subject;
    std::string fingerprint;
    absl::Time not_after;
    bool is_reported = false;
    CallerQuota::Share share;
  };

  // Returns why a certificate is refused; "" if it is not.
  absl::string_view WhyRefused(const std::string& fingerprint,
                               absl::Time not_after) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  absl::Duration RevocationAge() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  CallerQuota& quota_;
  const Clock& clock_;
  LogOncePerCause log_{absl::Minutes(5), clock_};
  mutable absl::Mutex mutex_;
  absl::flat_hash_set<std::string> revoked_ ABSL_GUARDED_BY(mutex_);
  // Monotonic(); nullopt without a list.
  std::optional<absl::Duration> confirmed_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<uint64_t, Connection> connections_
      ABSL_GUARDED_BY(mutex_);
  uint64_t last_ ABSL_GUARDED_BY(mutex_) = 0;  // the last number given
  Counts counts_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_SERVER_CLIENT_CERTIFICATES_H_
