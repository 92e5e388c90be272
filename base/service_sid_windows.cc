#include "base/service_sid_windows.h"

#include <openssl/sha.h>

#include <cstdint>
#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace fleetperf {

std::string ServiceSid(absl::string_view service) {
  std::string utf16;
  for (const char c : service) {
    utf16.push_back(absl::ascii_toupper(static_cast<unsigned char>(c)));
    utf16.push_back('\0');
  }
  unsigned char digest[SHA_DIGEST_LENGTH];
  SHA1(reinterpret_cast<const unsigned char*>(utf16.data()), utf16.size(),
       digest);
  std::string sid = "S-1-5-80";
  for (size_t i = 0; i < SHA_DIGEST_LENGTH; i += sizeof(uint32_t)) {
    uint32_t number;
    std::memcpy(&number, digest + i, sizeof number);
    absl::StrAppend(&sid, "-", number);
  }
  return sid;
}

}  // namespace fleetperf
