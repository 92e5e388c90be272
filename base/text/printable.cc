#include "base/text/printable.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/text/excerpt.h"
#include "base/text/utf8.h"

namespace fleetperf {
namespace {

struct Range {
  uint32_t first;
  uint32_t last;
};

// Control characters, which terminals interpret, and characters without a
// width, which make different names look alike: those with Unicode's property
// Default_Ignorable_Code_Point, separators of lines, and marks of annotations.
constexpr Range kUnprintable[] = {
    {0x007F, 0x009F},   {0x00AD, 0x00AD},   {0x034F, 0x034F},
    {0x061C, 0x061C},   {0x115F, 0x1160},   {0x17B4, 0x17B5},
    {0x180B, 0x180F},   {0x200B, 0x200F},   {0x2028, 0x202E},
    {0x2060, 0x206F},   {0x3164, 0x3164},   {0xFE00, 0xFE0F},
    {0xFEFF, 0xFEFF},   {0xFFA0, 0xFFA0},   {0xFFF0, 0xFFFB},
    {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A}, {0xE0000, 0xE0FFF},
};

// Those of them that change the direction of writing.
constexpr Range kBidirectional[] = {
    {0x061C, 0x061C}, {0x200E, 0x200F}, {0x202A, 0x202E}, {0x2066, 0x2069}};

template <size_t size>
bool IsIn(const Range (&ranges)[size], uint32_t character) {
  return std::any_of(
      std::begin(ranges), std::end(ranges), [&](const Range& range) {
        return range.first <= character && character <= range.last;
      });
}

bool IsPrintable(uint32_t character) {
  if (character < 0x7F) return character >= 0x20;
  return !IsIn(kUnprintable, character);
}

bool IsPrintableAscii(char byte) { return byte >= 0x20 && byte < 0x7F; }

bool IsControl(uint32_t character) {
  return character < 0x20 || (character >= 0x7F && character <= 0x9F);
}

absl::Status Refuse(absl::string_view text, absl::string_view reason) {
  return absl::InvalidArgumentError(absl::StrCat(QuoteText(text), reason));
}

}  // namespace

std::string Printable(absl::string_view text) {
  std::string printable;
  printable.reserve(text.size());
  while (!text.empty()) {
    const auto* ascii_end =
        std::find_if_not(text.begin(), text.end(), IsPrintableAscii);
    const auto ascii = static_cast<size_t>(ascii_end - text.begin());
    printable.append(text.data(), ascii);
    text.remove_prefix(ascii);
    if (text.empty()) break;
    uint32_t character = 0;
    const size_t size = DecodeCharacter(text, &character);
    if (size > 0 && IsPrintable(character)) {
      printable.append(text.data(), size);
    } else if (size > 0 && IsIn(kBidirectional, character)) {
      absl::StrAppend(&printable, "\\u",
                      absl::AsciiStrToUpper(
                          absl::StrCat(absl::Hex(character, absl::kZeroPad4))));
    } else {
      printable.push_back('?');
    }
    text.remove_prefix(std::max<size_t>(size, 1));
  }
  return printable;
}

absl::Status CheckText(absl::string_view text) {
  for (absl::string_view rest = text; !rest.empty();) {
    uint32_t character = 0;
    const size_t size = DecodeCharacter(rest, &character);
    if (size == 0) {
      return Refuse(
          text, absl::StrFormat(
                    " is not UTF-8: it has the byte 0x%02X; encode it in UTF-8",
                    static_cast<uint8_t>(rest[0])));
    }
    if (IsControl(character)) {
      return Refuse(
          text, absl::StrFormat(" has the control character U+%04X; remove it",
                                character));
    }
    rest.remove_prefix(size);
  }
  return absl::OkStatus();
}

std::string QuoteText(absl::string_view text) {
  const std::string excerpt = Excerpt(text);
  std::string quoted = "\"";
  for (absl::string_view rest = excerpt; !rest.empty();) {
    uint32_t character = 0;
    const size_t size = std::max<size_t>(DecodeCharacter(rest, &character), 1);
    const absl::string_view bytes = rest.substr(0, size);
    if (Printable(bytes) == bytes) {
      absl::StrAppend(&quoted, bytes);
    } else {
      for (const char byte : bytes) {
        absl::StrAppendFormat(&quoted, "\\x%02X", static_cast<uint8_t>(byte));
      }
    }
    rest.remove_prefix(size);
  }
  return absl::StrCat(quoted, "\"");
}

}  // namespace fleetperf
