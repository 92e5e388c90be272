#include "base/text/excerpt.h"

#include <cstdint>

#include "absl/strings/str_cat.h"

namespace fleetperf {

absl::string_view Utf8Prefix(absl::string_view text, size_t max) {
  if (text.size() <= max) return text;
  size_t end = max;
  while (end > 0 && (static_cast<uint8_t>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end);
}

std::string Excerpt(absl::string_view text, size_t max) {
  if (text.size() <= max) return std::string(text);
  return absl::StrCat(Utf8Prefix(text, max), "… (", text.size(), " bytes)");
}

}  // namespace fleetperf
