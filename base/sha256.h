#ifndef FLEETPERF_BASE_SHA256_H_
#define FLEETPERF_BASE_SHA256_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace fleetperf {

// Returns the 32 bytes of the SHA-256 of `data`.
std::string Sha256(absl::string_view data);

// Returns the first 8 bytes of the SHA-256, little-endian. Identifies batches.
uint64_t Fingerprint(absl::string_view data);

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_SHA256_H_
