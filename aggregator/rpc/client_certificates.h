// Which clients may connect, by their certificates, and which are connected.
//
// The TLS handshake checks that an authority has signed a certificate and that
// it is valid. This class also refuses revoked certificates, and finds the
// connections whose certificates were revoked or expired after the handshake.

#ifndef FLEETPERF_AGGREGATOR_RPC_CLIENT_CERTIFICATES_H_
#define FLEETPERF_AGGREGATOR_RPC_CLIENT_CERTIFICATES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "aggregator/rpc/peer.h"
#include "base/certificate_list.h"
#include "base/certificates.h"
#include "base/clock.h"
#include "base/logging.h"

namespace fleetperf::aggregator {

// Thread-safe.
class ClientCertificates {
 public:
  // `clock` must outlive the object.
  explicit ClientCertificates(const Clock* clock = &Clock::Real())
      : clock_(*clock) {}
  ClientCertificates(const ClientCertificates&) = delete;
  ClientCertificates& operator=(const ClientCertificates&) = delete;

  // Replaces the list of revoked certificates.
  void SetRevoked(const std::vector<ListedCertificate>& revoked);

  // The port of a connection.
  enum class Port { kGrpc, kPage };

  // Adds a connection whose handshake is done, and returns its number. Returns
  // nullopt, counts and logs if the certificate was revoked or has expired;
  // the caller then ends the connection.
  std::optional<uint64_t> Add(const Peer& peer,
                              const CertificateInfo& certificate,
                              Port port = Port::kGrpc);
  // Removes a connection that has ended.
  void Remove(uint64_t connection);

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
    uint64_t refused = 0;  // connections refused or ended for a certificate
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
  };

  // Returns why a certificate is refused; "" if it is not.
  absl::string_view WhyRefused(const std::string& fingerprint,
                               absl::Time not_after) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Clock& clock_;
  LogOncePerCause log_{absl::Minutes(5), clock_};
  mutable absl::Mutex mutex_;
  absl::flat_hash_set<std::string> revoked_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<uint64_t, Connection> connections_
      ABSL_GUARDED_BY(mutex_);
  uint64_t last_ ABSL_GUARDED_BY(mutex_) = 0;  // the last number given
  Counts counts_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_RPC_CLIENT_CERTIFICATES_H_
