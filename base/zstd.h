// zstd frames, for payloads of the wire and the store.

#ifndef FLEETPERF_BASE_ZSTD_H_
#define FLEETPERF_BASE_ZSTD_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace fleetperf {

// Replaces `compressed` by a frame of `data`, quickly rather than tightly.
void ZstdCompress(absl::string_view data, std::string* compressed);

// Replaces `data` by the contents of `compressed`, which must be exactly `size`
// bytes. The caller has bounded `size`; no more than that is ever allocated,
// and nothing if `compressed` is too short for it.
absl::Status ZstdDecompress(absl::string_view compressed, size_t size,
                            std::string* data);

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_ZSTD_H_
