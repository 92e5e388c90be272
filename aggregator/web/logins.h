// The users of the page: the tokens of login links, and the sessions that
// these begin.

#ifndef FLEETPERF_AGGREGATOR_WEB_LOGINS_H_
#define FLEETPERF_AGGREGATOR_WEB_LOGINS_H_

#include <cstddef>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/os/clock.h"
#include "base/server/client_certificates.h"
#include "base/tls/certificate_info.h"

namespace fleetperf::aggregator::web {

// The holder of a certificate.
struct Identity {
  std::string key;  // PeerIdentity::Key; limits apply to it
  std::string subject;
  std::string fingerprint;
  // The end of the certificate, or of the session that it made.
  absl::Time not_after;
};

// Returns the identity of a certificate; nullopt unless it is a reader's or an
// operator's.
std::optional<Identity> IdentityOf(const CertificateInfo& certificate);

// All are in memory only: a restart ends them. Thread-safe.
class Logins {
 public:
  static constexpr absl::Duration kTokenLife = absl::Minutes(5);
  static constexpr absl::Duration kSessionLife = absl::Hours(12);
  // Of one caller at a time. The oldest ends for a new one.
  static constexpr size_t kMaxTokens = 10;
  static constexpr size_t kMaxSessions = 20;

  // The arguments must outlive the object.
  Logins(const ClientCertificates* clients, const Clock* clock)
      : clients_(*clients), clock_(*clock) {}

  // Returns a new token, which works once.
  absl::StatusOr<std::string> MakeToken(const Identity& identity);
  // Exchanges a token for a session, whose secret it returns. nullopt if the
  // token is unknown, was used or has expired, or if its certificate was
  // revoked or has expired.
  std::optional<std::string> Redeem(absl::string_view token);
  // Returns the holder of a session, under the same conditions.
  std::optional<Identity> Find(absl::string_view session);

 private:
  struct Grant {
    Identity identity;
    absl::Duration
        end;  // Clock::Monotonic(), so that a step does not extend it
  };
  // By the SHA-256 of the secret, so that no comparison tells how much of a
  // secret is right.
  using Grants = absl::flat_hash_map<std::string, Grant>;

  absl::StatusOr<std::string> Add(const Identity& identity, absl::Duration life,
                                  size_t max, Grants* grants)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::optional<Identity> Use(absl::string_view secret, Grants* grants)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const ClientCertificates& clients_;
  const Clock& clock_;
  absl::Mutex mutex_;
  Grants tokens_ ABSL_GUARDED_BY(mutex_);
  Grants sessions_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace fleetperf::aggregator::web

#endif  // FLEETPERF_AGGREGATOR_WEB_LOGINS_H_
