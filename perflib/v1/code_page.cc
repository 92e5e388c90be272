#include "perflib/v1/code_page.h"

#include "perflib/bytes.h"
#include "perflib/utf16.h"

namespace fleetperf::perflib {
namespace {

constexpr uint32_t kWindows1252 = 1252;
constexpr uint32_t kLatin1 = 28591;
constexpr uint32_t kUtf8 = 65001;

// Code page 1252 from 0x80 to 0x9F, where it differs from Latin 1. Five bytes
// are undefined, which Windows maps to the control characters.
constexpr uint16_t kFrom80To9F[] = {
    0x20AC, 0x0081, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021,
    0x02C6, 0x2030, 0x0160, 0x2039, 0x0152, 0x008D, 0x017D, 0x008F,
    0x0090, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014,
    0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0x009D, 0x017E, 0x0178};

uint16_t UnitOf(uint8_t c, uint32_t code_page) {
  const bool differs = code_page == kWindows1252 && c >= 0x80 && c < 0xA0;
  return differs ? kFrom80To9F[c - 0x80] : c;
}

}  // namespace

bool IsKnownCodePage(uint32_t code_page) {
  return code_page == kUnicodePage || code_page == kWindows1252 ||
         code_page == kLatin1 || code_page == kUtf8;
}

std::string Utf16FromCodePage(absl::string_view name, uint32_t code_page) {
  if (code_page == kUnicodePage) {
    return std::string(name.substr(0, name.size() / 2 * 2));
  }
  std::string utf16;
  if (code_page == kUtf8) {
    utf16 = Utf16FromUtf8(name);
    if (Utf8FromUtf16(utf16) == name) return utf16;
    utf16.clear();
  }
  utf16.reserve(2 * name.size());
  for (const char c : name) {
    AppendBytes(UnitOf(static_cast<uint8_t>(c), code_page), &utf16);
  }
  return utf16;
}

}  // namespace fleetperf::perflib
