#include "base/tls/tls_identity.h"

#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <grpcpp/impl/grpc_library.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>

#include <atomic>
#include <string>
#include <utility>

#include "base/status_macros.h"

namespace fleetperf {
namespace {

// gRPC's C++ interface has no credentials that change, but its C interface has:
// gRPC calls Fetch for each connection that begins.
class ChangingServerCredentials : public grpc::ServerCredentials {
 public:
  explicit ChangingServerCredentials(const TlsIdentity* identity)
      : identity_(*identity) {
    grpc_ssl_server_credentials_options* const options =
        grpc_ssl_server_credentials_create_options_using_config_fetcher(
            GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY, Fetch,
            this);
    credentials_ = grpc_ssl_server_credentials_create_with_options(options);
  }
  ~ChangingServerCredentials() override {
    grpc_server_credentials_release(credentials_);
  }

  int AddPortToServer(const std::string& address,
                      grpc_server* server) override {
    return grpc_server_add_http2_port(server, address.c_str(), credentials_);
  }
  void SetAuthMetadataProcessor(
      const std::shared_ptr<grpc::AuthMetadataProcessor>&) override {}

 private:
  // gRPC calls this under a lock of its own.
  static grpc_ssl_certificate_config_reload_status Fetch(
      void* object, grpc_ssl_server_certificate_config** config) {
    auto& self = *static_cast<ChangingServerCredentials*>(object);
    const uint64_t version = self.identity_.version();
    if (self.fetched_.exchange(version) == version) {
      return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_UNCHANGED;
    }
    const TlsTexts texts = self.identity_.texts();
    const grpc_ssl_pem_key_cert_pair pair = {texts.key.c_str(),
                                             texts.certificate.c_str()};
    *config = grpc_ssl_server_certificate_config_create(texts.authority.c_str(),
                                                        &pair, 1);
    return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_NEW;
  }

  const TlsIdentity& identity_;
  std::atomic<uint64_t> fetched_ = 0;
  grpc_server_credentials* credentials_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<TlsIdentity>> TlsIdentity::Load(
    const TlsFiles& files, std::optional<Role> role, const Clock* clock) {
  ASSIGN_OR_RETURN(TlsTexts texts, ReadTlsTexts(files));
  ASSIGN_OR_RETURN(CertificateInfo certificate,
                   CheckTlsTexts(texts, files, role, clock->Now()));
  return std::shared_ptr<TlsIdentity>(new TlsIdentity(
      files, role, clock, std::move(texts), std::move(certificate)));
}

TlsIdentity::TlsIdentity(TlsFiles files, std::optional<Role> role,
                         const Clock* clock, TlsTexts texts,
                         CertificateInfo certificate)
    : files_(std::move(files)),
      role_(role),
      clock_(*clock),
      texts_(std::move(texts)),
      certificate_(std::move(certificate)) {}

absl::StatusOr<bool> TlsIdentity::Refresh() {
  ASSIGN_OR_RETURN(TlsTexts texts, ReadTlsTexts(files_));
  absl::MutexLock lock(&mutex_);
  if (!texts_.IsNew(texts)) return false;
  ASSIGN_OR_RETURN(certificate_,
                   CheckTlsTexts(texts, files_, role_, clock_.Now()));
  texts_.Use(std::move(texts));
  ++version_;
  return true;
}

CertificateInfo TlsIdentity::certificate() const {
  absl::MutexLock lock(&mutex_);
  return certificate_;
}

std::shared_ptr<grpc::ChannelCredentials> TlsIdentity::ForClient() const {
  return ClientCredentials(texts());
}

std::shared_ptr<grpc::ServerCredentials> TlsIdentity::ForServer() {
  static grpc::internal::GrpcLibraryInitializer initializer;
  initializer.summon();
  return std::make_shared<ChangingServerCredentials>(this);
}

TlsTexts TlsIdentity::texts() const {
  absl::MutexLock lock(&mutex_);
  return texts_.used();
}

uint64_t TlsIdentity::version() const {
  absl::MutexLock lock(&mutex_);
  return version_;
}

}  // namespace fleetperf
