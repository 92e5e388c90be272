// Fuzzes lists of revoked certificates. A list is read, or rejected with an
// error that names the line. A list that was read is written in a form that
// reads the same.

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/match.h"
#include "base/tls/certificate_list.h"
#include "tests/fuzz/check.h"

namespace fleetperf {
namespace {

void Check(const std::string& text) {
  const auto list = ParseCertificateList(text, "revoked");
  if (!list.ok()) {
    FUZZ_CHECK(absl::StartsWith(list.status().message(), "revoked:"));
    return;
  }
  const auto again =
      ParseCertificateList(FormatCertificateList(*list), "revoked");
  FUZZ_CHECK(again.ok() && again->size() == list->size());
  for (size_t i = 0; i < list->size(); ++i) {
    FUZZ_CHECK((*list)[i].fingerprint.size() == 64);
    FUZZ_CHECK((*list)[i].fingerprint == (*again)[i].fingerprint);
    FUZZ_CHECK((*list)[i].not_after == (*again)[i].not_after);
  }
}

}  // namespace
}  // namespace fleetperf

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fleetperf::Check(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
