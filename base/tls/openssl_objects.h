// OpenSSL's objects, for the files that create and read certificates. For .cc
// files only: users of this header parse OpenSSL's headers.

#ifndef FLEETPERF_BASE_TLS_OPENSSL_OBJECTS_H_
#define FLEETPERF_BASE_TLS_OPENSSL_OBJECTS_H_

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace fleetperf::openssl {

template <auto Free>
struct Deleter {
  template <typename T>
  void operator()(T* object) const {
    Free(object);
  }
};
using Certificate = std::unique_ptr<X509, Deleter<X509_free>>;
using PrivateKey = std::unique_ptr<EVP_PKEY, Deleter<EVP_PKEY_free>>;
using Memory = std::unique_ptr<BIO, Deleter<BIO_free_all>>;
using GeneralNames =
    std::unique_ptr<GENERAL_NAMES, Deleter<GENERAL_NAMES_free>>;

// Returns "cannot ACTION: " and the first error in OpenSSL's queue, which it
// clears.
absl::Status Error(absl::string_view action);

// Returns memory that is read from. `text` must outlive it.
Memory Reader(const std::string& text);

// Keys are not encrypted. Without this callback, OpenSSL would prompt on the
// terminal.
int NoPassword(char*, int, int, void*);

absl::StatusOr<PrivateKey> ParseKey(const std::string& pem);

// Parses the first certificate of the text.
absl::StatusOr<Certificate> ParseCertificate(const std::string& pem);

// See CertificateInfo::weakness. The key may be null.
std::string WeaknessOf(const EVP_PKEY* key);

}  // namespace fleetperf::openssl

#endif  // FLEETPERF_BASE_TLS_OPENSSL_OBJECTS_H_
