#include "perflib/utf16.h"

#include <cstdint>
#include <cstring>

namespace fleetperf::perflib {
namespace {

constexpr uint32_t kReplacement = 0xFFFD;

bool IsHighSurrogate(uint32_t unit) { return unit >= 0xD800 && unit <= 0xDBFF; }
bool IsLowSurrogate(uint32_t unit) { return unit >= 0xDC00 && unit <= 0xDFFF; }
bool IsSurrogate(uint32_t code) { return code >= 0xD800 && code <= 0xDFFF; }

void AppendUtf8(uint32_t code, std::string* out) {
  if (code < 0x80) {
    out->push_back(static_cast<char>(code));
  } else if (code < 0x800) {
    out->push_back(static_cast<char>(0xC0 | code >> 6));
    out->push_back(static_cast<char>(0x80 | (code & 0x3F)));
  } else if (code < 0x10000) {
    out->push_back(static_cast<char>(0xE0 | code >> 12));
    out->push_back(static_cast<char>(0x80 | (code >> 6 & 0x3F)));
    out->push_back(static_cast<char>(0x80 | (code & 0x3F)));
  } else {
    out->push_back(static_cast<char>(0xF0 | code >> 18));
    out->push_back(static_cast<char>(0x80 | (code >> 12 & 0x3F)));
    out->push_back(static_cast<char>(0x80 | (code >> 6 & 0x3F)));
    out->push_back(static_cast<char>(0x80 | (code & 0x3F)));
  }
}

void AppendUnit(uint32_t unit, std::string* out) {
  out->push_back(static_cast<char>(unit & 0xFF));
  out->push_back(static_cast<char>(unit >> 8));
}

void AppendUtf16(uint32_t code, std::string* out) {
  if (code < 0x10000) {
    AppendUnit(code, out);
  } else {
    AppendUnit(0xD800 + ((code - 0x10000) >> 10), out);
    AppendUnit(0xDC00 + ((code - 0x10000) & 0x3FF), out);
  }
}

// Removes one code point from the front of `text` and returns it. Ill-formed
// input yields U+FFFD and removes one byte.
uint32_t ConsumeUtf8(absl::string_view* text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>((*text)[i]); };
  const uint32_t first = byte(0);
  const size_t length = first < 0x80         ? 1
                        : first >> 5 == 0x6  ? 2
                        : first >> 4 == 0xE  ? 3
                        : first >> 3 == 0x1E ? 4
                                             : 0;
  // The minimum by length. Smaller values are overlong forms.
  constexpr uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  uint32_t code = kReplacement;
  size_t used = 1;
  if (length == 1) {
    code = first;
  } else if (length != 0 && length <= text->size()) {
    uint32_t value = first & (0x7F >> length);
    bool well_formed = true;
    for (size_t i = 1; i < length; ++i) {
      well_formed = well_formed && byte(i) >> 6 == 0x2;
      value = value << 6 | (byte(i) & 0x3F);
    }
    if (well_formed && value >= kSmallest[length] && value <= 0x10FFFF &&
        !IsSurrogate(value)) {
      code = value;
      used = length;
    }
  }
  text->remove_prefix(used);
  return code;
}

}  // namespace

std::string Utf8FromUtf16(absl::string_view utf16) {
  const size_t units = utf16.size() / 2;
  const auto unit = [&](size_t i) {
    uint16_t value;
    std::memcpy(&value, utf16.data() + 2 * i, sizeof value);
    return static_cast<uint32_t>(value);
  };
  std::string utf8;
  utf8.reserve(units);
  for (size_t i = 0; i < units; ++i) {
    uint32_t code = unit(i);
    if (IsHighSurrogate(code) && i + 1 < units && IsLowSurrogate(unit(i + 1))) {
      code = 0x10000 + ((code - 0xD800) << 10) + (unit(++i) - 0xDC00);
    } else if (IsSurrogate(code)) {
      code = kReplacement;
    }
    AppendUtf8(code, &utf8);
  }
  return utf8;
}

std::string Utf16FromUtf8(absl::string_view utf8) {
  std::string utf16;
  utf16.reserve(2 * utf8.size());
  while (!utf8.empty()) AppendUtf16(ConsumeUtf8(&utf8), &utf16);
  return utf16;
}

}  // namespace fleetperf::perflib
