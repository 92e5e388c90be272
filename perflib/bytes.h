// Reading fixed-size structures out of bytes, and appending them to bytes, at
// any alignment.

#ifndef FLEETPERF_PERFLIB_BYTES_H_
#define FLEETPERF_PERFLIB_BYTES_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

#include "absl/strings/string_view.h"

namespace fleetperf::perflib {

// The caller has checked that sizeof(T) bytes remain at `offset`.
template <typename T>
T LoadAt(absl::string_view bytes, size_t offset) {
  static_assert(std::is_trivially_copyable_v<T>);
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

// `offset` + sizeof(T) <= bytes->size().
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

// The length in bytes of the NUL-terminated UTF-16 string at the start of
// `field`, without its NUL; npos if none of the whole units in `field` is a
// NUL.
inline size_t TerminatedUtf16Length(absl::string_view field) {
  for (size_t i = 0; i + 2 <= field.size(); i += 2) {
    if (field[i] == 0 && field[i + 1] == 0) return i;
  }
  return absl::string_view::npos;
}

}  // namespace fleetperf::perflib

#endif  // FLEETPERF_PERFLIB_BYTES_H_
