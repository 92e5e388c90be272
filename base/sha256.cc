#include "base/sha256.h"

#include <openssl/sha.h>

namespace fleetperf {

std::string Sha256(absl::string_view data) {
  std::string digest(SHA256_DIGEST_LENGTH, '\0');
  SHA256(reinterpret_cast<const unsigned char*>(data.data()), data.size(),
         reinterpret_cast<unsigned char*>(digest.data()));
  return digest;
}

uint64_t Fingerprint(absl::string_view data) {
  const std::string digest = Sha256(data);
  uint64_t fingerprint = 0;
  for (size_t i = sizeof fingerprint; i-- > 0;) {
    fingerprint = fingerprint << 8 | static_cast<uint8_t>(digest[i]);
  }
  return fingerprint;
}

}  // namespace fleetperf
