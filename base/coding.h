// Encodes numbers and bytes in records. Each Get function removes the decoded
// value from the front of `from`, or returns false if `from` is too short.

#ifndef FLEETPERF_BASE_CODING_H_
#define FLEETPERF_BASE_CODING_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace fleetperf {

// 7 bits per byte, lowest first. The high bit is clear in the last byte only.
inline void PutVarint(uint64_t number, std::string* to) {
  while (number >= 0x80) {
    to->push_back(static_cast<char>(number | 0x80));
    number >>= 7;
  }
  to->push_back(static_cast<char>(number));
}

inline bool GetVarint(absl::string_view* from, uint64_t* number) {
  *number = 0;
  for (int shift = 0; shift < 64 && !from->empty(); shift += 7) {
    const auto byte = static_cast<uint8_t>(from->front());
    from->remove_prefix(1);
    *number |= uint64_t{byte & 0x7Fu} << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

inline void PutLittleEndian(uint64_t number, int size, std::string* to) {
  for (; size > 0; --size, number >>= 8) {
    to->push_back(static_cast<char>(number & 0xFF));
  }
}

// Decodes a number of up to eight bytes.
inline uint64_t LittleEndian(absl::string_view bytes) {
  uint64_t number = 0;
  for (size_t i = bytes.size(); i-- > 0;) {
    number = number << 8 | static_cast<uint8_t>(bytes[i]);
  }
  return number;
}

// Maps differences modulo 2^64 so that small ones of either sign become small.
constexpr uint64_t ZigZag(uint64_t difference) {
  return difference << 1 ^ (0 - (difference >> 63));
}
constexpr uint64_t UnZigZag(uint64_t number) {
  return number >> 1 ^ (0 - (number & 1));
}

inline void PutBytes(absl::string_view bytes, std::string* to) {
  PutVarint(bytes.size(), to);
  to->append(bytes.data(), bytes.size());
}

inline bool GetBytes(absl::string_view* from, absl::string_view* bytes) {
  uint64_t size = 0;
  if (!GetVarint(from, &size) || size > from->size()) return false;
  *bytes = from->substr(0, size);
  from->remove_prefix(size);
  return true;
}

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_CODING_H_
