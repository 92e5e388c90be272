// Limits of the texts in a request. They bound the work of parsing and
// resolving a request, whose size only the limit of messages bounds otherwise.

#ifndef FLEETPERF_AGGREGATOR_QUERY_REQUEST_LIMITS_H_
#define FLEETPERF_AGGREGATOR_QUERY_REQUEST_LIMITS_H_

#include <cstddef>

#include "absl/status/status.h"
#include "base/status_macros.h"

namespace fleetperf::aggregator {

// Paths and expressions, and paths in expressions.
inline constexpr size_t kMaxPaths = 1000;
// Different machines with wildcards in a subscription, which the first batch of
// each machine is compared with.
inline constexpr size_t kMaxMachinePatterns = 32;
// The bytes of all paths and expressions.
inline constexpr size_t kMaxPathBytes = 64 << 10;
// The bytes of a serialized request within these limits.
inline constexpr size_t kMaxRequestBytes = 256 << 10;
// The labels of the machines, and the bytes of their names and values and of
// the machine. As many as an agent may have.
inline constexpr size_t kMaxFilterLabels = 64;
inline constexpr size_t kMaxFilterBytes = 8 << 10;

// Return InvalidArgument with the number and the limit if it is exceeded.
absl::Status CheckPathCount(size_t paths);
absl::Status CheckPathBytes(size_t bytes);
absl::Status CheckMachinePatterns(size_t patterns);
absl::Status CheckFilterSize(size_t labels, size_t bytes);

// Checks a request with the fields `machine` and `labels`.
template <typename Request>
absl::Status CheckFilter(const Request& request) {
  size_t bytes = request.machine().size();
  for (const auto& [name, value] : request.labels()) {
    bytes += name.size() + value.size();
  }
  return CheckFilterSize(request.labels().size(), bytes);
}

// Same with the field `paths`, too.
template <typename Request>
absl::Status CheckPathsAndFilter(const Request& request) {
  RETURN_IF_ERROR(CheckPathCount(static_cast<size_t>(request.paths_size())));
  size_t bytes = 0;
  for (const auto& path : request.paths()) bytes += path.size();
  RETURN_IF_ERROR(CheckPathBytes(bytes));
  return CheckFilter(request);
}

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_QUERY_REQUEST_LIMITS_H_
