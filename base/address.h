// Checks network addresses in configuration files and flags.

#ifndef FLEETPERF_BASE_ADDRESS_H_
#define FLEETPERF_BASE_ADDRESS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace fleetperf {

// Returns InvalidArgument, with `example`, unless `text` is "host:port" and the
// port is a number from `least_port` to 65535. Resolvers would accept 70000 as
// port 4464, and an empty port as any port; they would look for a host that is
// named like a URL.
absl::Status CheckAddress(
    absl::string_view text, uint32_t least_port = 1,
    absl::string_view example = "aggregator.example:7443");

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_ADDRESS_H_
