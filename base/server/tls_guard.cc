#include "base/server/tls_guard.h"

#include <dlfcn.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "base/logging.h"
#include "base/os/clock.h"
#include "base/server/http2_frames.h"
#include "base/tls/certificate_info.h"

namespace fleetperf {
namespace {

constexpr FrameLimits kLimits;

std::atomic<uint64_t> floods = 0;

absl::Duration GuardNow() { return Clock::Real().Monotonic(); }

constexpr absl::Duration kExclusion = absl::Seconds(10);
constexpr size_t kMaxExcluded = 10'000;

// The holders of connections that may not connect for now. Thread-safe.
class Exclusions {
 public:
  void Add(const std::string& holder, absl::Duration now) {
    absl::MutexLock lock(&mutex_);
    absl::erase_if(ends_,
                   [&](const auto& entry) { return entry.second <= now; });
    if (ends_.size() < kMaxExcluded) ends_[holder] = now + kExclusion;
  }

  bool Has(const std::string& holder, absl::Duration now) {
    absl::MutexLock lock(&mutex_);
    const auto found = ends_.find(holder);
    return found != ends_.end() && found->second > now;
  }

 private:
  absl::Mutex mutex_;
  absl::flat_hash_map<std::string, absl::Duration> ends_
      ABSL_GUARDED_BY(mutex_);
};

Exclusions& Excluded() {
  static Exclusions* const excluded = new Exclusions;
  return *excluded;
}

// The connection that gRPC takes over on this thread.
struct Accepted {
  std::shared_ptr<ClientCertificates> clients;
  Peer peer;
};
thread_local Accepted accepted;

// The state of a connection, which ends with it.
struct Guard {
  ~Guard() {
    if (number.has_value()) clients->Remove(*number);
  }

  std::shared_ptr<ClientCertificates> clients;  // null outside an AcceptScope
  Peer peer;
  std::string rejected;  // the subject of a certificate that is not valid
  // Set by the first bytes after the handshake. `holder` is the certificate's
  // fingerprint, or the address of a client without a certificate.
  bool is_identified = false;
  std::string holder;
  std::string description;         // of the holder, for the log
  std::optional<uint64_t> number;  // at `clients`
  bool is_refused = false;
  bool is_excluded = false;
  Http2Frames frames{&kLimits};
};

void FreeGuard(void*, void* guard, CRYPTO_EX_DATA*, int, long, void*) {
  delete static_cast<Guard*>(guard);
}

int GuardIndex() {
  static const int index =
      SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, FreeGuard);
  return index;
}

// Returns null if there was no memory for it.
Guard* GuardOf(const SSL* ssl) {
  return static_cast<Guard*>(SSL_get_ex_data(ssl, GuardIndex()));
}

// Notes the holder of a certificate that does not pass OpenSSL's check, because
// OpenSSL forgets it.
int OnVerified(int is_valid, X509_STORE_CTX* context) {
  X509* const certificate = X509_STORE_CTX_get_current_cert(context);
  if (is_valid == 0 && certificate != nullptr) {
    const auto* const ssl = static_cast<SSL*>(X509_STORE_CTX_get_ex_data(
        context, SSL_get_ex_data_X509_STORE_CTX_idx()));
    GuardOf(ssl)->rejected = DescribeCertificate(certificate).subject;
  }
  return is_valid;
}

// Reports fatal alerts, with which either side ends a handshake.
void OnEvent(const SSL* ssl, int where, int value) {
  const bool is_alert = (where & SSL_CB_ALERT) != 0;
  if (!is_alert || (value >> 8) != SSL3_AL_FATAL) return;
  const Guard& guard = *GuardOf(ssl);
  if (guard.clients == nullptr || guard.is_identified) return;
  std::string reason = SSL_alert_desc_string_long(value);
  const long verified = SSL_get_verify_result(ssl);
  if ((where & SSL_CB_READ) != 0) {
    reason = absl::StrCat("the client says \"", reason, "\"");
  } else if (verified != X509_V_OK) {
    reason = X509_verify_cert_error_string(verified);
  }
  guard.clients->ReportFailedHandshake(guard.peer, guard.rejected, reason);
}

void Attach(SSL* ssl) {
  auto* const guard = new Guard;
  guard->clients = accepted.clients;
  guard->peer = accepted.peer;
  if (SSL_set1_groups_list(ssl, kTlsGroups) != 1 ||
      SSL_set_ex_data(ssl, GuardIndex(), guard) != 1) {
    delete guard;
    return;
  }
  if (SSL_get_verify_callback(ssl) == nullptr) {
    SSL_set_verify(ssl, SSL_get_verify_mode(ssl), OnVerified);
  }
  SSL_set_info_callback(ssl, OnEvent);
}

void Identify(const SSL* ssl, Guard* guard) {
  const std::unique_ptr<X509, decltype(&X509_free)> certificate(
      SSL_get1_peer_certificate(ssl), X509_free);
  guard->is_identified = true;
  if (certificate == nullptr) {
    // A server of strangers: gRPC ends the handshake at all others.
    guard->holder = AddressText(NetworkOf(guard->peer.address));
    guard->description = guard->holder;
  } else {
    const CertificateInfo info = DescribeCertificate(certificate.get());
    guard->holder = info.fingerprint;
    guard->description =
        absl::StrCat("the holder of the certificate \"", info.subject, "\"");
    if (guard->clients != nullptr) {
      guard->number = guard->clients->Add(guard->peer, info);
      guard->is_refused = !guard->number.has_value();
    }
  }
  guard->is_excluded = Excluded().Has(guard->holder, GuardNow());
}

void ReportFlood(const Guard& guard, absl::string_view limit) {
  static LogOncePerCause* const log = new LogOncePerCause;
  log->Warn(absl::StrCat(limit, guard.description),
            absl::StrCat("closed a connection of ", guard.description,
                         ", which exceeds the limit of HTTP/2 ", limit,
                         "; it may connect again in ",
                         absl::FormatDuration(kExclusion)));
}

// Returns whether the connection may go on after these bytes.
bool MayGoOn(const SSL* ssl, absl::string_view bytes) {
  Guard* const guard = GuardOf(ssl);
  if (guard == nullptr) return false;
  if (!guard->is_identified) Identify(ssl, guard);
  if (guard->is_refused) return false;
  if (!guard->is_excluded) {
    const absl::string_view limit = guard->frames.Take(bytes, GuardNow);
    if (limit.empty()) return true;
    Excluded().Add(guard->holder, GuardNow());
    ReportFlood(*guard, limit);
  }
  ++floods;
  return false;
}

// Returns OpenSSL's own function.
template <typename Function>
Function OpenSslFunction(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

}  // namespace

AcceptScope::AcceptScope(std::shared_ptr<ClientCertificates> clients,
                         const Peer& peer) {
  accepted = {std::move(clients), peer};
}

AcceptScope::~AcceptScope() { accepted = {}; }

uint64_t CountFloods() { return floods; }

}  // namespace fleetperf

// See the header.

extern "C" void SSL_set_accept_state(SSL* ssl) {
  using namespace fleetperf;
  static const auto set =
      OpenSslFunction<void (*)(SSL*)>("SSL_set_accept_state");
  Attach(ssl);
  set(ssl);
}

extern "C" int SSL_read(SSL* ssl, void* buffer, int size) {
  using namespace fleetperf;
  static const auto read =
      OpenSslFunction<int (*)(SSL*, void*, int)>("SSL_read");
  const int result = read(ssl, buffer, size);
  if (result <= 0 || !SSL_is_server(ssl)) return result;
  const absl::string_view bytes(static_cast<const char*>(buffer),
                                static_cast<size_t>(result));
  if (MayGoOn(ssl, bytes)) return result;
  ERR_raise(ERR_LIB_USER, ERR_R_OPERATION_FAIL);  // for SSL_get_error
  return -1;
}
