#include "base/certificate_use.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include "absl/strings/str_cat.h"

namespace fleetperf {

absl::Status CheckClientUse(const std::string& certificate,
                            const std::string& file) {
  BIO* const memory =
      BIO_new_mem_buf(certificate.data(), static_cast<int>(certificate.size()));
  X509* const parsed = PEM_read_bio_X509(memory, nullptr, nullptr, nullptr);
  BIO_free_all(memory);
  ERR_clear_error();
  // All uses are allowed without the extension.
  const uint32_t uses =
      parsed != nullptr ? X509_get_extended_key_usage(parsed) : 0;
  X509_free(parsed);
  if ((uses & XKU_SSL_CLIENT) != 0) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      file,
      " may be used by a server only (extended key usage), so peers refuse it; "
      "issue it again with: fleetperf pki issue aggregator --force"));
}

}  // namespace fleetperf
