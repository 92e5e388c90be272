#include "base/text/utf8.h"

namespace fleetperf {

size_t DecodeCharacter(absl::string_view text, uint32_t* character) {
  const auto first = static_cast<uint8_t>(text[0]);
  if (first < 0x80) {
    *character = first;
    return 1;
  }
  const size_t size = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < size) return 0;
  uint32_t value = first & (0xFFu >> (size + 1));
  for (size_t i = 1; i < size; ++i) {
    const auto byte = static_cast<uint8_t>(text[i]);
    if ((byte & 0xC0) != 0x80) return 0;
    value = value << 6 | (byte & 0x3F);
  }
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = value >= 0xD800 && value <= 0xDFFF;
  if (value < kLeast[size] || value > 0x10FFFF || is_surrogate) return 0;
  *character = value;
  return size;
}

}  // namespace fleetperf
