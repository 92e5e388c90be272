// Loads and stores fixed-size structures in bytes, at any alignment.

#ifndef FLEETPERF_PERFLIB_BYTES_H_
#define FLEETPERF_PERFLIB_BYTES_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

#include "absl/strings/string_view.h"

namespace fleetperf::perflib {

// Requires `offset` + sizeof(T) <= bytes.size().
template <typename T>
T LoadAt(absl::string_view bytes, size_t offset) {
  static_assert(std::is_trivially_copyable_v<T>);
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

// Requires `offset` + sizeof(T) <= bytes->size().
template <typename T>
void StoreAt(const T& value, size_t offset, std::string* bytes) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::memcpy(bytes->data() + offset, &value, sizeof value);
}

template <typename T>
void AppendBytes(const T& value, std::string* bytes) {
  static_assert(std::is_trivially_copyable_v<T>);
  bytes->append(reinterpret_cast<const char*>(&value), sizeof value);
}

// Returns the length in bytes, without the NUL, of the NUL-terminated UTF-16
// string at the start of `field`. Returns npos if no whole unit of `field` is
// NUL.
inline size_t TerminatedUtf16Length(absl::string_view field) {
  for (size_t i = 0; i + 2 <= field.size(); i += 2) {
    if (field[i] == 0 && field[i + 1] == 0) return i;
  }
  return absl::string_view::npos;
}

}  // namespace fleetperf::perflib

#endif  // FLEETPERF_PERFLIB_BYTES_H_
