#include "base/printable.h"

#include <cstdint>

#include "absl/strings/ascii.h"

namespace fleetperf {
namespace {

// Matches U+0080 to U+009F, which some terminals interpret.
bool IsC1Control(absl::string_view text) {
  return text.size() >= 2 && static_cast<uint8_t>(text[0]) == 0xC2 &&
         static_cast<uint8_t>(text[1]) >= 0x80 &&
         static_cast<uint8_t>(text[1]) <= 0x9F;
}

}  // namespace

std::string Printable(absl::string_view text) {
  std::string printable;
  printable.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    const bool is_c1 = IsC1Control(text.substr(i));
    printable.push_back(is_c1 || absl::ascii_iscntrl(text[i]) ? '?' : text[i]);
    i += is_c1;
  }
  return printable;
}

}  // namespace fleetperf
