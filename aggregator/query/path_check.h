// Finds the paths of a request that have no samples, and explains why.

#ifndef FLEETPERF_AGGREGATOR_QUERY_PATH_CHECK_H_
#define FLEETPERF_AGGREGATOR_QUERY_PATH_CHECK_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "aggregator/query/resolver.h"
#include "aggregator/samples/directory.h"
#include "aggregator/samples/frame.h"
#include "fleetperf/v1/query.pb.h"

namespace fleetperf::aggregator {

// The names of instances by counterset name, and whether they are aggregates.
using InstanceNames = std::map<std::string, std::map<std::string, bool>>;

// Returns the path of an error of PathSet::Select or PathCheck::Missing. The
// message starts with an excerpt of the path and ": ".
std::optional<std::string> PathOf(const absl::Status& status);

// Returns such an error with its path, for a client.
v1::Missing ToMissing(const absl::Status& status);

// Finds the paths that have no samples. Thread-compatible.
class PathCheck {
 public:
  // `paths` without those that PathSet::Select missed.
  PathCheck(const PathSet& paths, const std::vector<absl::Status>& missed);

  // Adds a series with samples. `index` is the number of its instance among
  // those with its name.
  void AddSeries(const std::string& machine, const Schema& schema,
                 uint32_t counter_id, const std::string& instance,
                 uint32_t index);
  // Whether all paths have samples. Names of instances are not needed then.
  bool found_all() const { return pending_.empty(); }
  // Adds the names of all instances of a machine, selected or not.
  void AddInstances(const std::string& machine, const InstanceNames& names);

  // Returns the time of a machine's first tick of a counterset after the range.
  using TickAfterRange = std::function<std::optional<absl::Time>(
      const std::string& machine, const SelectedCounterset& selected)>;

  // Returns an error for each path without samples, in order. Its code is
  // NotFound if the path has an instance name that no instance had, although
  // the counterset had others; otherwise it is OutOfRange.
  // Stops early if the caller is gone.
  std::vector<absl::Status> Missing(
      const Directory& directory, const IsCancelled& is_cancelled = {},
      const TickAfterRange& tick_after = {}) const;

 private:
  struct Pending {
    PathSet::NamedPath path;
    std::map<std::string, bool> seen;  // some instances, for suggestions
    std::string counterset;            // that has the first of these
  };

  absl::Status Explain(const Pending& pending, const Directory& directory,
                       const IsCancelled& is_cancelled,
                       const TickAfterRange& tick_after) const;

  const MachineFilter filter_;
  std::vector<Pending> pending_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_QUERY_PATH_CHECK_H_
