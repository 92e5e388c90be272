// Keeps a daemon's certificate up to date, and logs what its operator must know
// about it.

#ifndef FLEETPERF_BASE_TLS_CERTIFICATE_RENEWAL_H_
#define FLEETPERF_BASE_TLS_CERTIFICATE_RENEWAL_H_

#include <memory>
#include <string>

#include "absl/time/time.h"
#include "base/os/clock.h"
#include "base/tls/tls_identity.h"

namespace fleetperf {

// Thread-compatible.
class CertificateRenewal {
 public:
  // `clock` must outlive the object.
  explicit CertificateRenewal(std::shared_ptr<TlsIdentity> identity,
                              const Clock* clock = &Clock::Real());

  // Looks for renewed files (TlsIdentity::Refresh). Logs a renewal, each reason
  // why new files are not used once, and once a day that the certificate
  // expires soon: within 30 days, or the last third of a shorter life. Must be
  // called every few seconds.
  void Run();

 private:
  void WarnOfExpiry();

  const std::shared_ptr<TlsIdentity> identity_;
  const Clock& clock_;
  std::string problem_;  // the last one that was logged
  absl::Duration next_warning_ = -absl::InfiniteDuration();  // Monotonic()
};

// Returns the time until the certificate expires, in whole seconds; 0 if it has
// expired.
uint64_t SecondsLeft(const CertificateInfo& certificate, absl::Time now);

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_TLS_CERTIFICATE_RENEWAL_H_
