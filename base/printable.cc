#include "base/printable.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "base/utf8.h"

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
