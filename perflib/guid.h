// A GUID as PerfLib uses it to name countersets and providers.

#ifndef FLEETPERF_PERFLIB_GUID_H_
#define FLEETPERF_PERFLIB_GUID_H_

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"

namespace fleetperf::perflib {

// The memory layout is that of the Windows GUID on a little-endian machine, so
// a Guid can be copied out of a block.
struct Guid {
  uint32_t data1 = 0;
  uint16_t data2 = 0;
  uint16_t data3 = 0;
  std::array<uint8_t, 8> data4 = {};

  auto operator<=>(const Guid&) const = default;

  // Returns the 16 bytes in memory order.
  std::string Bytes() const;

  // Returns "{b4fc721a-0378-476f-89ba-a5a79f810b36}".
  std::string ToString() const;

  template <typename H>
  friend H AbslHashValue(H h, const Guid& guid) {
    return H::combine(std::move(h), guid.data1, guid.data2, guid.data3,
                      guid.data4);
  }
};
static_assert(sizeof(Guid) == 16);

// Parses "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx", with or without braces, in
// either case. Returns std::nullopt for any other text.
std::optional<Guid> ParseGuid(absl::string_view text);

// The inverse of Guid::Bytes. Returns std::nullopt unless there are exactly 16
// bytes.
std::optional<Guid> GuidFromBytes(absl::string_view bytes);

}  // namespace fleetperf::perflib

#endif  // FLEETPERF_PERFLIB_GUID_H_
