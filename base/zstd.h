// zstd frames for payloads on the wire and in the store.

#ifndef FLEETPERF_BASE_ZSTD_H_
#define FLEETPERF_BASE_ZSTD_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace fleetperf {

// Replaces `compressed` with a frame of `data`. Favors speed over size.
void ZstdCompress(absl::string_view data, std::string* compressed);

// Replaces `data` with the contents of `compressed`, which must be exactly
// `size` bytes. The caller must bound `size`: up to `size` bytes are allocated.
// Allocates nothing if `compressed` is too short for that size.
absl::Status ZstdDecompress(absl::string_view compressed, size_t size,
                            std::string* data);

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_ZSTD_H_
