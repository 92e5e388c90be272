#include "aggregator/rpc/http2_guard.h"

#include <dlfcn.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <atomic>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "aggregator/rpc/http2_frames.h"
#include "base/clock.h"
#include "base/logging.h"

namespace fleetperf::aggregator {
namespace {

using ReadFunction = int (*)(SSL*, void*, int);

constexpr FrameLimits kLimits;

std::atomic<uint64_t> floods = 0;

absl::Duration Now() { return Clock::Real().Monotonic(); }

void FreeFrames(void*, void* frames, CRYPTO_EX_DATA*, int, long, void*) {
  delete static_cast<Http2Frames*>(frames);
}

// Returns the frames of a connection, which end with it.
Http2Frames& FramesOf(SSL* ssl) {
  static const int index =
      SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, FreeFrames);
  auto* frames = static_cast<Http2Frames*>(SSL_get_ex_data(ssl, index));
  if (frames == nullptr) {
    frames = new Http2Frames(&kLimits);
    SSL_set_ex_data(ssl, index, frames);
  }
  return *frames;
}

// Returns the common name in the peer's certificate, which its authority chose.
std::string PeerName(SSL* ssl) {
  const std::unique_ptr<X509, decltype(&X509_free)> certificate(
      SSL_get1_peer_certificate(ssl), X509_free);
  if (certificate == nullptr) return "a peer without a certificate";
  char name[256] = "";
  X509_NAME_get_text_by_NID(X509_get_subject_name(certificate.get()),
                            NID_commonName, name, sizeof name);
  return absl::StrCat("the holder of the certificate \"", name, "\"");
}

void ReportFlood(SSL* ssl, absl::string_view limit) {
  static LogOncePerCause* const log = new LogOncePerCause;
  ++floods;
  const std::string peer = PeerName(ssl);
  log->Warn(absl::StrCat(limit, peer),
            absl::StrCat("closed a connection of ", peer,
                         ", which exceeds the limit of HTTP/2 ", limit));
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
  const absl::string_view limit = FramesOf(ssl).Take(
      {static_cast<const char*>(buffer), static_cast<size_t>(result)}, Now);
  if (limit.empty()) return result;
  ReportFlood(ssl, limit);
  ERR_raise(ERR_LIB_USER, ERR_R_OPERATION_FAIL);  // for SSL_get_error
  return -1;
}
