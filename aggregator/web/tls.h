// TLS for browsers: a client's certificate is optional.

#ifndef FLEETPERF_AGGREGATOR_WEB_TLS_H_
#define FLEETPERF_AGGREGATOR_WEB_TLS_H_

#include <openssl/ssl.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/tls/tls_identity.h"

namespace fleetperf::aggregator::web {

// Makes connections with the certificates in use. Thread-compatible.
class TlsServer {
 public:
  // `own` has the certificate and key of the page, `clients` the authority of
  // clients' certificates. They may be the same.
  static absl::StatusOr<std::unique_ptr<TlsServer>> Make(
      std::shared_ptr<TlsIdentity> own, std::shared_ptr<TlsIdentity> clients);

  // Returns the server's side of a connection; nullptr without memory.
  SSL* Accept(int fd);

 private:
  using Context = std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)>;

  TlsServer(std::shared_ptr<TlsIdentity> own,
            std::shared_ptr<TlsIdentity> clients)
      : own_(std::move(own)), clients_(std::move(clients)) {}

  absl::Status Refresh();

  const std::shared_ptr<TlsIdentity> own_;
  const std::shared_ptr<TlsIdentity> clients_;
  // The versions of the last attempt to make the context.
  uint64_t own_version_ = 0;
  uint64_t clients_version_ = 0;
  Context context_{nullptr, SSL_CTX_free};
};

// One connection, whose descriptor is non-blocking. Thread-compatible.
class TlsConnection {
 public:
  enum class Result {
    kOk,
    kWantsRead,   // try again when bytes have arrived
    kWantsWrite,  // try again when there is room for bytes
    kEnded,
  };

  // Takes ownership of `ssl`.
  explicit TlsConnection(SSL* ssl) : ssl_(ssl, SSL_free) {}

  Result Handshake();
  // Appends some bytes.
  Result Read(std::string* bytes);
  // Removes the bytes that it has written from the start of `*bytes`.
  Result Write(absl::string_view* bytes);
  // Says goodbye, without waiting for the answer.
  void Shutdown();

  // After Handshake. The certificate of the client, if it has sent one.
  std::optional<CertificateInfo> ClientCertificate() const;
  // Why Handshake has returned kEnded.
  const std::string& reason() const { return reason_; }

 private:
  Result ResultOf(int returned);

  const std::unique_ptr<SSL, decltype(&SSL_free)> ssl_;
  std::string reason_;
  bool is_broken_ = false;
};

}  // namespace fleetperf::aggregator::web

#endif  // FLEETPERF_AGGREGATOR_WEB_TLS_H_
