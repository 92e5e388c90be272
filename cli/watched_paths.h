// Finds the paths of a subscription that no series has matched.

#ifndef FLEETPERF_CLI_WATCHED_PATHS_H_
#define FLEETPERF_CLI_WATCHED_PATHS_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "fleetperf/v1/values.pb.h"

namespace fleetperf::cli {

// Returns the position in `paths` of the first path that the series matches, or
// their number.
size_t PlaceOf(const v1::Series& series, absl::Span<const std::string> paths);

// Thread-compatible.
class WatchedPaths {
 public:
  explicit WatchedPaths(std::vector<std::string> paths)
      : unmatched_(std::move(paths)) {}

  // Adds a series of the subscription.
  void Add(const v1::Series& series);
  // Removes a path, because it is known to match nothing.
  void Remove(const std::string& path);

  // Returns the other paths that no series has matched.
  const std::vector<std::string>& unmatched() const { return unmatched_; }

 private:
  std::vector<std::string> unmatched_;
};

}  // namespace fleetperf::cli

#endif  // FLEETPERF_CLI_WATCHED_PATHS_H_
