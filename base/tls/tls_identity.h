// A process's certificate, which is renewed without a restart.

#ifndef FLEETPERF_BASE_TLS_TLS_IDENTITY_H_
#define FLEETPERF_BASE_TLS_TLS_IDENTITY_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "base/os/clock.h"
#include "base/settled.h"
#include "base/tls/certificate_info.h"
#include "base/tls/credentials.h"

namespace fleetperf {

// The certificate, key and authority in use. Always a complete set that was
// valid when it was taken into use. Thread-safe.
class TlsIdentity {
 public:
  // `role`: the role that the certificate must have; nullopt: any. `clock` must
  // outlive the object. Errors name the file.
  static absl::StatusOr<std::shared_ptr<TlsIdentity>> Load(
      const TlsFiles& files, std::optional<Role> role,
      const Clock* clock = &Clock::Real());

  // Reads the files. Uses contents that are new, that the last call saw too
  // (settled.h), and that pass all checks of Load; connections that begin from
  // now on use them. Returns whether it has. Returns an error for new contents
  // that cannot be used; those in use stay.
  absl::StatusOr<bool> Refresh();

  CertificateInfo certificate() const;

  // Credentials for one connection, with the contents in use.
  std::shared_ptr<grpc::ChannelCredentials> ForClient() const;

  // Credentials for one server with one port. Each connection that begins gets
  // the contents that are in use then. The identity must outlive the server.
  std::shared_ptr<grpc::ServerCredentials> ForServer();

  // The contents in use, and a number that changes with them.
  TlsTexts texts() const;
  uint64_t version() const;

 private:
  TlsIdentity(TlsFiles files, std::optional<Role> role, const Clock* clock,
              TlsTexts texts, CertificateInfo certificate);

  const TlsFiles files_;
  const std::optional<Role> role_;
  const Clock& clock_;
  mutable absl::Mutex mutex_;
  Settled<TlsTexts> texts_ ABSL_GUARDED_BY(mutex_);
  CertificateInfo certificate_ ABSL_GUARDED_BY(mutex_);
  uint64_t version_ ABSL_GUARDED_BY(mutex_) = 1;
};

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_TLS_TLS_IDENTITY_H_
