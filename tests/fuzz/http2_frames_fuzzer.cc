// Fuzzes the bounds on HTTP/2 frames. A limit is found at the same byte,
// however the bytes are cut.

#include <cstddef>
#include <cstdint>

#include "base/server/http2_frames.h"
#include "tests/fuzz/check.h"

namespace {

using fleetperf::FrameLimits;
using fleetperf::Http2Frames;

absl::Duration Now() { return absl::Hours(1); }

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr FrameLimits kLimits = {.rates = {{{1, 3}, {1, 2}, {1, 2}, {1, 4}}},
                                   .max_header_bytes = 100,
                                   .max_header_frames = 3};
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  Http2Frames at_once(&kLimits);
  const absl::string_view broken = at_once.Take(bytes, Now);
  Http2Frames by_byte(&kLimits);
  absl::string_view broken_by_byte;
  for (size_t i = 0; i < size && broken_by_byte.empty(); ++i) {
    broken_by_byte = by_byte.Take(bytes.substr(i, 1), Now);
  }
  FUZZ_CHECK(broken == broken_by_byte);
  return 0;
}
