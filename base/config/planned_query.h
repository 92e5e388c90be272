// The keys "queries", "include" and "exclude" of a configuration file. Agents
// read them from their own file, the aggregator from each of its plans.

#ifndef FLEETPERF_BASE_CONFIG_PLANNED_QUERY_H_
#define FLEETPERF_BASE_CONFIG_PLANNED_QUERY_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/config/config.h"

namespace fleetperf {

// Names are patterns as in paths; see perflib/path.h.
struct PlannedQuery {
  std::string counterset;              // a name or "{GUID}"
  std::vector<std::string> counters;   // names or "id:N"; empty: all
  std::vector<std::string> instances;  // empty: all
  absl::Duration interval = absl::Seconds(1);
  // Whether a 4-byte value that falls by more than half of its range has
  // wrapped.
  bool wrap32 = false;
  // Names of instances that are the aggregates of others, besides the known
  // ones (perflib/aggregates.h).
  std::vector<std::string> aggregates;
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

// Which instances of a counterset an agent collects, for all queries. An agent
// does not touch the others, as far as its source can: for example, it does not
// ask a filesystem for its space. Names are patterns, as above.
struct InstanceRule {
  std::string counterset;            // a name or "{GUID}"
  std::vector<std::string> include;  // empty: all but automounts
  std::vector<std::string> exclude;

  bool operator==(const InstanceRule&) const = default;
};

// Reads the keys "include" and "exclude", which have lists by counterset.
// Errors are noted in `section`.
std::vector<InstanceRule> ReadInstanceRules(ConfigSection& section);

// Returns an error with the reason if `interval` is not allowed.
absl::Status CheckInterval(absl::Duration interval);

// The bounds of a plan, wherever it comes from: the agent's own file, an entry
// of the aggregator's "plans", or an aggregator.
inline constexpr size_t kMaxPlanQueries = 1000;     // and as many rules
inline constexpr size_t kMaxPlanNames = 10'000;     // of all queries and rules
inline constexpr size_t kMaxPlanBytes = 512 << 10;  // of all names

// A setting of a query or rule that is not allowed, and why.
struct PlanProblem {
  std::string setting;  // "interval"
  std::string reason;   // with the next step
};

// Checks the queries and rules of one plan, one after the other.
// Thread-compatible.
class PlanCheck {
 public:
  // Adds to the plan. Returns a problem of the query, or that the plan has
  // become too large; nullopt if there is none.
  std::optional<PlanProblem> Add(const PlannedQuery& query);
  std::optional<PlanProblem> Add(const InstanceRule& rule);

 private:
  std::optional<PlanProblem> AddName(absl::string_view setting,
                                     absl::string_view name);
  std::optional<PlanProblem> AddNames(absl::string_view setting,
                                      const std::vector<std::string>& names);

  size_t queries_ = 0;
  size_t rules_ = 0;
  size_t names_ = 0;
  size_t bytes_ = 0;
};

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_CONFIG_PLANNED_QUERY_H_
