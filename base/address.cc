#include "base/address.h"

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace fleetperf {

absl::Status CheckAddress(absl::string_view text, uint32_t least_port,
                          absl::string_view example) {
  constexpr uint32_t kMaxPort = 65535;
  for (const absl::string_view scheme : {"https://", "http://"}) {
    if (!absl::StartsWithIgnoreCase(text, scheme)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("\"", text, "\" is a URL; write it without \"", scheme,
                     "\", as in ", example));
  }
  const size_t colon = text.rfind(':');
  if (colon == absl::string_view::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", text, "\" has no port; write it as in ", example));
  }
  const absl::string_view digits = text.substr(colon + 1);
  uint32_t port = 0;
  if (absl::SimpleAtoi(digits, &port) && port >= least_port &&
      port <= kMaxPort) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "\"", text, "\" ends in \"", digits, "\", which is not a port (",
      least_port, " to ", kMaxPort, "); write it as in ", example));
}

}  // namespace fleetperf
