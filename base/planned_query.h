// The list "queries" of a configuration file: what is collected. Agents read
// it from theirs, and the aggregator from each of its plans.

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
  // Whether 4-byte values that fall by less than half of their range wrapped.
  bool wrap32 = false;
  // Whose counters: names in the network and in the store. Empty: the agent's
  // own, or in a collection that of its machine.
  std::vector<std::string> machines;
  // What messages call it; empty: "queries[N]".
  std::string name;
  // Whether it is run only while somebody looks; then it is no error that a
  // query before it collects some of its counters.
  bool meanwhile = false;

  bool operator==(const PlannedQuery&) const = default;
};

// Reads the list "queries". Notes what is wrong in `section`.
std::vector<PlannedQuery> ReadQueries(ConfigSection& section);

// An error says why nothing can be collected so often, or so rarely.
absl::Status CheckInterval(absl::Duration interval);

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_PLANNED_QUERY_H_
