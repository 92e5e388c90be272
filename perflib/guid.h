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

// Byte for byte the Windows GUID on a little-endian machine, so it can be
// copied out of a block.
struct Guid {
  uint32_t data1 = 0;
  uint16_t data2 = 0;
  uint16_t data3 = 0;
  std::array<uint8_t, 8> data4 = {};

  auto operator<=>(const Guid&) const = default;

  // The 16 bytes as they stand in memory.
  std::string Bytes() const;

  // "{b4fc721a-0378-476f-89ba-a5a79f810b36}"
  std::string ToString() const;

  template <typename H>
  friend H AbslHashValue(H h, const Guid& guid) {
    return H::combine(std::move(h), guid.data1, guid.data2, guid.data3,
                      guid.data4);
  }
};
static_assert(sizeof(Guid) == 16);

// Reads "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx", in braces or not, in either
// case. Nothing if the text is anything else.
std::optional<Guid> ParseGuid(absl::string_view text);

// The inverse of Guid::Bytes; nothing unless there are exactly 16 bytes.
std::optional<Guid> GuidFromBytes(absl::string_view bytes);

}  // namespace fleetperf::perflib

#endif  // FLEETPERF_PERFLIB_GUID_H_
