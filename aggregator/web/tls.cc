#include "aggregator/web/tls.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/server/tls_guard.h"
#include "base/status_macros.h"

namespace fleetperf::aggregator::web {
namespace {

constexpr size_t kReadBytes = 16 << 10;

using Bio = std::unique_ptr<BIO, decltype(&BIO_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;
using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;

Bio Open(const std::string& pem) {
  return Bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())),
             BIO_free);
}

std::vector<Certificate> ReadAll(const std::string& pem) {
  std::vector<Certificate> certificates;
  const Bio bio = Open(pem);
  while (X509* const next =
             PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)) {
    certificates.emplace_back(next, X509_free);
  }
  ERR_clear_error();  // of the end of the text
  return certificates;
}

absl::Status Failed(absl::string_view what) {
  char reason[256] = "";
  ERR_error_string_n(ERR_get_error(), reason, sizeof reason);
  ERR_clear_error();
  return absl::InternalError(
      absl::StrCat("OpenSSL cannot use ", what, ": ", reason));
}

absl::Status UseCertificate(const TlsTexts& texts, SSL_CTX* context) {
  const std::vector<Certificate> chain = ReadAll(texts.certificate);
  if (chain.empty() ||
      SSL_CTX_use_certificate(context, chain.front().get()) != 1) {
    return Failed("the page's certificate");
  }
  for (size_t i = 1; i < chain.size(); ++i) {
    if (SSL_CTX_add1_chain_cert(context, chain[i].get()) != 1) {
      return Failed("the chain of the page's certificate");
    }
  }
  const Key key(
      PEM_read_bio_PrivateKey(Open(texts.key).get(), nullptr, nullptr, nullptr),
      EVP_PKEY_free);
  if (key == nullptr || SSL_CTX_use_PrivateKey(context, key.get()) != 1) {
    return Failed("the key of the page's certificate");
  }
  return absl::OkStatus();
}

absl::Status TrustClients(const TlsTexts& texts, SSL_CTX* context) {
  X509_STORE* const store = SSL_CTX_get_cert_store(context);
  for (const Certificate& authority : ReadAll(texts.authority)) {
    // Browsers offer the certificates of these authorities only.
    if (X509_STORE_add_cert(store, authority.get()) != 1 ||
        SSL_CTX_add_client_CA(context, authority.get()) != 1) {
      return Failed("the authority of clients' certificates");
    }
  }
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  return absl::OkStatus();
}

int ChooseProtocol(SSL*, const unsigned char** chosen, unsigned char* size,
                   const unsigned char* offered, unsigned offered_size, void*) {
  static constexpr unsigned char kHttp11[] = "\x08http/1.1";
  unsigned char* found = nullptr;
  if (SSL_select_next_proto(&found, size, kHttp11, sizeof kHttp11 - 1, offered,
                            offered_size) != OPENSSL_NPN_NEGOTIATED) {
    return SSL_TLSEXT_ERR_NOACK;
  }
  *chosen = found;
  return SSL_TLSEXT_ERR_OK;
}

// Without sessions, each connection checks its client's certificate again.
absl::Status SetOptions(SSL_CTX* context) {
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET |
                                   SSL_OP_NO_COMPRESSION |
                                   SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(context, 0);
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE |
                                SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                SSL_MODE_RELEASE_BUFFERS);
  // By default, a read handles any number of records without data, such as
  // KeyUpdate, before it returns: a client could hold the page's thread.
  SSL_CTX_clear_mode(context, SSL_MODE_AUTO_RETRY);
  SSL_CTX_set_alpn_select_cb(context, ChooseProtocol, nullptr);
  if (SSL_CTX_set1_groups_list(context, kTlsGroups) != 1) {
    return Failed(kTlsGroups);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<TlsServer>> TlsServer::Make(
    std::shared_ptr<TlsIdentity> own, std::shared_ptr<TlsIdentity> clients) {
  std::unique_ptr<TlsServer> server(
      new TlsServer(std::move(own), std::move(clients)));
  RETURN_IF_ERROR(server->Refresh());
  return server;
}

absl::Status TlsServer::Refresh() {
  const uint64_t own_version = own_->version();
  const uint64_t clients_version = clients_->version();
  if (own_version == own_version_ && clients_version == clients_version_) {
    return absl::OkStatus();
  }
  // Contents that cannot be used are tried, and logged, once.
  own_version_ = own_version;
  clients_version_ = clients_version;
  Context context(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
  if (context == nullptr) return Failed("TLS");
  RETURN_IF_ERROR(SetOptions(context.get()));
  RETURN_IF_ERROR(UseCertificate(own_->texts(), context.get()));
  RETURN_IF_ERROR(TrustClients(clients_->texts(), context.get()));
  context_ = std::move(context);
  return absl::OkStatus();
}

SSL* TlsServer::Accept(int fd) {
  if (const absl::Status status = Refresh(); !status.ok()) {
    LogError("the page goes on with its last certificate: ", status.message());
  }
  SSL* const ssl = SSL_new(context_.get());
  if (ssl == nullptr) return nullptr;
  if (SSL_set_fd(ssl, fd) != 1) {
    SSL_free(ssl);
    return nullptr;
  }
  SSL_set_accept_state(ssl);
  return ssl;
}

TlsConnection::Result TlsConnection::ResultOf(int returned) {
  if (returned == 1) return Result::kOk;
  switch (SSL_get_error(ssl_.get(), returned)) {
    case SSL_ERROR_WANT_READ:
      return Result::kWantsRead;
    case SSL_ERROR_WANT_WRITE:
      return Result::kWantsWrite;
    case SSL_ERROR_ZERO_RETURN:
      return Result::kEnded;
    default:
      is_broken_ = true;
      return Result::kEnded;
  }
}

TlsConnection::Result TlsConnection::Handshake() {
  ERR_clear_error();
  const Result result = ResultOf(SSL_do_handshake(ssl_.get()));
  if (result == Result::kEnded) {
    const long verified = SSL_get_verify_result(ssl_.get());
    const char* const reason = ERR_reason_error_string(ERR_peek_last_error());
    reason_ = verified != X509_V_OK ? X509_verify_cert_error_string(verified)
              : reason != nullptr   ? reason
                                    : "the client has left";
  }
  return result;
}

// Not SSL_read, in whose place rpc/tls_guard.h puts a function that looks for
// HTTP/2 frames.
TlsConnection::Result TlsConnection::Read(std::string* bytes) {
  ERR_clear_error();
  char buffer[kReadBytes];
  size_t size = 0;
  const Result result =
      ResultOf(SSL_read_ex(ssl_.get(), buffer, sizeof buffer, &size));
  if (result == Result::kOk) bytes->append(buffer, size);
  return result;
}

TlsConnection::Result TlsConnection::Write(absl::string_view* bytes) {
  ERR_clear_error();
  size_t size = 0;
  const Result result =
      ResultOf(SSL_write_ex(ssl_.get(), bytes->data(), bytes->size(), &size));
  if (result == Result::kOk) bytes->remove_prefix(size);
  return result;
}

void TlsConnection::Shutdown() {
  if (is_broken_) return;
  ERR_clear_error();
  SSL_shutdown(ssl_.get());
}

std::optional<CertificateInfo> TlsConnection::ClientCertificate() const {
  const Certificate certificate(SSL_get1_peer_certificate(ssl_.get()),
                                X509_free);
  if (certificate == nullptr) return std::nullopt;
  return DescribeCertificate(certificate.get());
}

}  // namespace fleetperf::aggregator::web
