#include "aggregator/rpc/http2_guard.h"

#include <dlfcn.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <atomic>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "aggregator/rpc/http2_frames.h"
#include "base/clock.h"
#include "base/logging.h"

namespace fleetperf::aggregator {
namespace {

using ReadFunction = int (*)(SSL*, void*, int);

constexpr FrameLimits kLimits;

std::atomic<uint64_t> floods = 0;

absl::Duration GuardNow() { return Clock::Real().Monotonic(); }

constexpr absl::Duration kExclusion = absl::Seconds(10);
constexpr size_t kMaxExcluded = 10'000;

// The SHA-256 of a certificate in DER.
using Fingerprint = std::string;

// The certificates that may not connect for now. Thread-safe.
class Exclusions {
 public:
  void Add(const Fingerprint& certificate, absl::Duration now) {
    absl::MutexLock lock(&mutex_);
    absl::erase_if(ends_,
                   [&](const auto& entry) { return entry.second <= now; });
    if (ends_.size() < kMaxExcluded) ends_[certificate] = now + kExclusion;
  }

  bool Has(const Fingerprint& certificate, absl::Duration now) {
    absl::MutexLock lock(&mutex_);
    const auto found = ends_.find(certificate);
    return found != ends_.end() && found->second > now;
  }

 private:
  absl::Mutex mutex_;
  absl::flat_hash_map<Fingerprint, absl::Duration> ends_
      ABSL_GUARDED_BY(mutex_);
};

Exclusions& Excluded() {
  static Exclusions* const excluded = new Exclusions;
  return *excluded;
}

using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;

Certificate PeerCertificate(SSL* ssl) {
  return Certificate(SSL_get1_peer_certificate(ssl), X509_free);
}

// Returns "" for a peer without a certificate, whose handshake gRPC refuses.
Fingerprint FingerprintOf(const X509* certificate) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  if (certificate == nullptr ||
      X509_digest(certificate, EVP_sha256(), digest, &size) != 1) {
    return "";
  }
  return Fingerprint(reinterpret_cast<const char*>(digest), size);
}

// The state of a connection, which ends with it.
struct Guard {
  explicit Guard(SSL* ssl)
      : certificate(FingerprintOf(PeerCertificate(ssl).get())),
        is_excluded(Excluded().Has(certificate, GuardNow())) {}

  const Fingerprint certificate;
  const bool is_excluded;
  Http2Frames frames{&kLimits};
};

void FreeGuard(void*, void* guard, CRYPTO_EX_DATA*, int, long, void*) {
  delete static_cast<Guard*>(guard);
}

Guard& GuardOf(SSL* ssl) {
  static const int index =
      SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, FreeGuard);
  auto* guard = static_cast<Guard*>(SSL_get_ex_data(ssl, index));
  if (guard == nullptr) {
    guard = new Guard(ssl);
    SSL_set_ex_data(ssl, index, guard);
  }
  return *guard;
}

// Returns the common name in the peer's certificate, which its authority chose.
std::string PeerName(SSL* ssl) {
  const Certificate certificate = PeerCertificate(ssl);
  if (certificate == nullptr) return "a peer without a certificate";
  char name[256] = "";
  X509_NAME_get_text_by_NID(X509_get_subject_name(certificate.get()),
                            NID_commonName, name, sizeof name);
  return absl::StrCat("the holder of the certificate \"", name, "\"");
}

void ReportFlood(SSL* ssl, absl::string_view limit) {
  static LogOncePerCause* const log = new LogOncePerCause;
  const std::string peer = PeerName(ssl);
  log->Warn(absl::StrCat(limit, peer),
            absl::StrCat("closed a connection of ", peer,
                         ", which exceeds the "
                         "limit of HTTP/2 ",
                         limit, "; it may connect again in ",
                         absl::FormatDuration(kExclusion)));
}

// Returns whether the connection may go on after these bytes.
bool MayGoOn(SSL* ssl, absl::string_view bytes) {
  Guard& guard = GuardOf(ssl);
  if (!guard.is_excluded) {
    const absl::string_view limit = guard.frames.Take(bytes, GuardNow);
    if (limit.empty()) return true;
    Excluded().Add(guard.certificate, GuardNow());
    ReportFlood(ssl, limit);
  }
  ++floods;
  return false;
}

}  // namespace

uint64_t CountFloods() { return floods; }

}  // namespace fleetperf::aggregator

// See the header.
extern "C" int SSL_read(SSL* ssl, void* buffer, int size) {
  using namespace fleetperf::aggregator;
  static const auto read =
      reinterpret_cast<ReadFunction>(dlsym(RTLD_NEXT, "SSL_read"));
  const int result = read(ssl, buffer, size);
  if (result <= 0 || !SSL_is_server(ssl)) return result;
  const absl::string_view bytes(static_cast<const char*>(buffer),
                                static_cast<size_t>(result));
  if (MayGoOn(ssl, bytes)) return result;
  ERR_raise(ERR_LIB_USER, ERR_R_OPERATION_FAIL);  // for SSL_get_error
  return -1;
}
