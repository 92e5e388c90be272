#ifndef FLEETPERF_BASE_SHA256_H_
#define FLEETPERF_BASE_SHA256_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace fleetperf {

// The 32 bytes of the SHA-256 of `data`.
std::string Sha256(absl::string_view data);

// Its first 8 bytes, little-endian: tells batches apart.
uint64_t Fingerprint(absl::string_view data);

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_SHA256_H_
