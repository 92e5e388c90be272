#include "base/printable.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>

namespace fleetperf {
namespace {

struct Range {
  uint32_t first;
  uint32_t last;
};

// Control characters, which terminals interpret, and characters without a
// width, which make different names look alike: those with Unicode's property
// Default_Ignorable_Code_Point, separators of lines, and marks of annotations.
// They include the overrides of the direction of writing.
constexpr Range kUnprintable[] = {
    {0x007F, 0x009F},   {0x00AD, 0x00AD},   {0x034F, 0x034F},
    {0x061C, 0x061C},   {0x115F, 0x1160},   {0x17B4, 0x17B5},
    {0x180B, 0x180F},   {0x200B, 0x200F},   {0x2028, 0x202E},
    {0x2060, 0x206F},   {0x3164, 0x3164},   {0xFE00, 0xFE0F},
    {0xFEFF, 0xFEFF},   {0xFFA0, 0xFFA0},   {0xFFF0, 0xFFFB},
    {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A}, {0xE0000, 0xE0FFF},
};

bool IsPrintable(uint32_t character) {
  if (character < 0x7F) return character >= 0x20;
  return std::none_of(std::begin(kUnprintable), std::end(kUnprintable),
                      [&](const Range& range) {
                        return range.first <= character &&
                               character <= range.last;
                      });
}

// Returns the size of the UTF-8 character that starts `text`, which is not
// empty, and sets `character` to it. Returns 0 if there is none.
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

}  // namespace

std::string Printable(absl::string_view text) {
  std::string printable;
  printable.reserve(text.size());
  while (!text.empty()) {
    uint32_t character = 0;
    const size_t size = DecodeCharacter(text, &character);
    if (size > 0 && IsPrintable(character)) {
      printable.append(text.data(), size);
    } else {
      printable.push_back('?');
    }
    text.remove_prefix(std::max<size_t>(size, 1));
  }
  return printable;
}

}  // namespace fleetperf
