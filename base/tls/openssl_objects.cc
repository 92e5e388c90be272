#include "base/tls/openssl_objects.h"

#include <openssl/err.h>
#include <openssl/pem.h>

#include "absl/strings/str_cat.h"

namespace fleetperf::openssl {
namespace {

// RSA of 2,048 bits has this strength, and P-256 one of 128.
constexpr int kMinSecurityBits = 112;
// OpenSSL rounds: it gives slightly shorter keys the same strength.
constexpr int kMinRsaBits = 2048;

}  // namespace

absl::Status Error(absl::string_view action) {
  char reason[256] = "unknown reason";
  if (const unsigned long error = ERR_get_error(); error != 0) {
    ERR_error_string_n(error, reason, sizeof reason);
  }
  ERR_clear_error();
  return absl::InternalError(absl::StrCat("cannot ", action, ": ", reason));
}

Memory Reader(const std::string& text) {
  return Memory(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

int NoPassword(char*, int, int, void*) { return 0; }

absl::StatusOr<PrivateKey> ParseKey(const std::string& pem) {
  const Memory memory = Reader(pem);
  PrivateKey key(
      PEM_read_bio_PrivateKey(memory.get(), nullptr, NoPassword, nullptr));
  if (key == nullptr) return Error("read a private key");
  return key;
}

absl::StatusOr<Certificate> ParseCertificate(const std::string& pem) {
  const Memory memory = Reader(pem);
  Certificate certificate(
      PEM_read_bio_X509(memory.get(), nullptr, nullptr, nullptr));
  if (certificate == nullptr) {
    return Error("read a certificate");
  }
  return certificate;
}

std::string WeaknessOf(const EVP_PKEY* key) {
  if (key == nullptr) return "has no key that OpenSSL can use";
  const int id = EVP_PKEY_get_base_id(key);
  const bool is_rsa = id == EVP_PKEY_RSA || id == EVP_PKEY_RSA_PSS;
  if (EVP_PKEY_get_security_bits(key) >= kMinSecurityBits &&
      (!is_rsa || EVP_PKEY_get_bits(key) >= kMinRsaBits)) {
    return "";
  }
  const char* const kind = EVP_PKEY_get0_type_name(key);
  return absl::StrCat("has a key of ", EVP_PKEY_get_bits(key), " bits (",
                      kind == nullptr ? "of an unknown kind" : kind,
                      "), which is too short; use P-256, as fleetperf pki "
                      "does, or RSA with at least 2,048 bits");
}

}  // namespace fleetperf::openssl
