// The list "queries" of a configuration file. Agents read it from their own
// file, the aggregator from each of its plans.

#ifndef FLEETPERF_BASE_PLANNED_QUERY_H_
#define FLEETPERF_BASE_PLANNED_QUERY_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/config.h"

namespace fleetperf {

// Names are patterns as in paths; see perflib/path.h.
struct PlannedQuery {
  std::string counterset;              // a name or "{GUID}"
  std::vector<std::string> counters;   // names or "id:N"; empty: all
  std::vector<std::string> instances;  // empty: all
  absl::Duration interval = absl::Seconds(1);
  // Whether a 4-byte value that falls by less than half of its range has
  // wrapped.
  bool wrap32 = false;
  // The machines to collect from, by network and store name. Empty: the agent's
  // own machine, or in a collection the machine of its agent.
  std::vector<std::string> machines;
  // The query's name in messages; empty: "queries[N]".
  std::string name;
  // Whether the query runs only while a user watches. Such a query may name
  // counters that an earlier query collects.
  bool meanwhile = false;

  bool operator==(const PlannedQuery&) const = default;
};

// Reads the list "queries". Errors are noted in `section`.
std::vector<PlannedQuery> ReadQueries(ConfigSection& section);

// Returns an error with the reason if `interval` is not allowed.
absl::Status CheckInterval(absl::Duration interval);

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_PLANNED_QUERY_H_
