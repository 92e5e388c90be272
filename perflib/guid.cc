#include "perflib/guid.h"

#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"

namespace fleetperf::perflib {
namespace {

constexpr size_t kTextLength = 36;

bool IsDashPosition(size_t i) {
  return i == 8 || i == 13 || i == 18 || i == 23;
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = absl::ascii_tolower(c);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

}  // namespace

std::string Guid::Bytes() const {
  return std::string(reinterpret_cast<const char*>(this), sizeof(Guid));
}

std::string Guid::ToString() const {
  return absl::StrFormat("{%08x-%04x-%04x-%02x%02x-%02x%02x%02x%02x%02x%02x}",
                         data1, data2, data3, data4[0], data4[1], data4[2],
                         data4[3], data4[4], data4[5], data4[6], data4[7]);
}

std::optional<Guid> ParseGuid(absl::string_view text) {
  if (absl::ConsumePrefix(&text, "{") && !absl::ConsumeSuffix(&text, "}"))
    return std::nullopt;
  if (text.size() != kTextLength) return std::nullopt;

  std::array<uint8_t, 16> octets = {};  // in the order of the text
  size_t digits = 0;
  for (size_t i = 0; i < kTextLength; ++i) {
    if (IsDashPosition(i)) {
      if (text[i] != '-') return std::nullopt;
      continue;
    }
    const int digit = HexDigit(text[i]);
    if (digit < 0) return std::nullopt;
    octets[digits / 2] = static_cast<uint8_t>(octets[digits / 2] << 4 | digit);
    ++digits;
  }

  Guid guid;
  guid.data1 = static_cast<uint32_t>(octets[0]) << 24 | octets[1] << 16 |
               octets[2] << 8 | octets[3];
  guid.data2 = static_cast<uint16_t>(octets[4] << 8 | octets[5]);
  guid.data3 = static_cast<uint16_t>(octets[6] << 8 | octets[7]);
  std::memcpy(guid.data4.data(), octets.data() + 8, 8);
  return guid;
}

std::optional<Guid> GuidFromBytes(absl::string_view bytes) {
  if (bytes.size() != sizeof(Guid)) return std::nullopt;
  Guid guid;
  std::memcpy(&guid, bytes.data(), sizeof(Guid));
  return guid;
}

}  // namespace fleetperf::perflib
