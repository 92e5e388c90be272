// Builds little-endian bytes field by field, independently of the library's own
// writers, so that golden bytes can check those writers.

#ifndef FLEETPERF_TESTS_SUPPORT_BYTE_BUILDER_H_
#define FLEETPERF_TESTS_SUPPORT_BYTE_BUILDER_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"

namespace fleetperf::testing {

class ByteBuilder {
 public:
  ByteBuilder& U16(uint16_t value) { return Integer(value, 2); }
  ByteBuilder& U32(uint32_t value) { return Integer(value, 4); }
  ByteBuilder& U64(uint64_t value) { return Integer(value, 8); }
  ByteBuilder& I64(int64_t value) {
    return Integer(static_cast<uint64_t>(value), 8);
  }
  ByteBuilder& Raw(absl::string_view bytes) {
    bytes_.append(bytes.data(), bytes.size());
    return *this;
  }
  // Appends ASCII text as UTF-16, without a NUL.
  ByteBuilder& Ascii(absl::string_view text) {
    for (const char c : text) U16(static_cast<uint8_t>(c));
    return *this;
  }
  // Appends zeros up to a multiple of 8 bytes.
  ByteBuilder& PadTo8() {
    while (bytes_.size() % 8 != 0) bytes_.push_back('\0');
    return *this;
  }

  std::string Build() const { return bytes_; }

 private:
  ByteBuilder& Integer(uint64_t value, size_t size) {
    for (size_t i = 0; i < size; ++i) {
      bytes_.push_back(static_cast<char>(value >> (8 * i) & 0xFF));
    }
    return *this;
  }

  std::string bytes_;
};

// Returns ASCII text as UTF-16: "A" becomes 41 00.
inline std::string Utf16(absl::string_view ascii) {
  return ByteBuilder().Ascii(ascii).Build();
}

// Parses hexadecimal digits such as "1a 72 FC". Spaces and newlines are
// ignored.
inline std::string FromHex(absl::string_view digits) {
  const std::string packed =
      absl::StrReplaceAll(digits, {{" ", ""}, {"\n", ""}});
  std::string bytes;
  for (size_t i = 0; i < packed.size(); i += 2) {
    bytes.push_back(
        static_cast<char>(std::stoi(packed.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

// Returns `bytes` with the 32 bits at `offset` replaced by `value`.
inline std::string WithU32(std::string bytes, size_t offset, uint32_t value) {
  return bytes.replace(offset, 4, ByteBuilder().U32(value).Build());
}

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_SUPPORT_BYTE_BUILDER_H_
