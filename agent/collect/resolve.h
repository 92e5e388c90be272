// Resolves the names in a plan to the counters of a source.

#ifndef FLEETPERF_AGENT_COLLECT_RESOLVE_H_
#define FLEETPERF_AGENT_COLLECT_RESOLVE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "agent/collect/plan.h"
#include "agent/source/instance_selection.h"
#include "agent/source/source.h"
#include "perflib/path.h"
#include "perflib/registration.h"

namespace fleetperf::agent {

// Selects instances that match a pattern of `instances` and no pattern of
// `except`. An empty list of `instances` matches all.
struct InstanceFilter {
  std::vector<perflib::Pattern> instances;
  std::vector<perflib::Pattern> except;

  bool operator==(const InstanceFilter&) const = default;
};

// One counterset of a planned query.
struct ResolvedQuery {
  // The positions of the planned queries in their plan, ascending; not empty.
  std::vector<size_t> planned;
  perflib::CountersetRegistration registration;
  absl::Duration interval;
  struct Counter {
    uint32_t id;
    // The plan does not name the counter, but another counter's formula needs
    // it.
    bool only_linked;

    bool operator==(const Counter&) const = default;
  };
  // The counters whose values are sent, in the order of the registration.
  std::vector<Counter> counters;
  // The counter that holds an instance's start time: a different value means a
  // different life. Collected even if not sent.
  std::optional<uint32_t> start_counter_id;
  // Not empty. An instance is kept if one of them selects it. Each excepts the
  // instances that the filters and queries before it collect.
  std::vector<InstanceFilter> filters;
  InstanceSelection selection;  // of the plan: the instances for all filters
  bool wrap32 = false;          // PlannedQuery::wrap32

  bool operator==(const ResolvedQuery&) const = default;
};

struct Resolution {
  std::vector<ResolvedQuery> queries;
  // A name without a match: the planned query's position and a message that
  // suggests the likely name.
  struct Problem {
    size_t planned;
    std::string message;
  };
  std::vector<Problem> problems;
  // Rules of the plan for countersets that there are not.
  std::vector<std::string> rule_problems;
};

// Resolves the plan's queries for `machine` against its countersets. If two
// queries name the same counter of an instance, only the first collects it.
// Queries of one counterset are merged if they differ only in their counters,
// or only in their instances.
//
// The plan may be hostile, so its cost is bounded: the comparisons of names,
// the memory of the resolution, the number of problems, and the number of
// queries of each counterset and in all. What exceeds a bound is not collected,
// and is a problem of its planned query.
Resolution ResolvePlan(
    const Plan& plan, const std::string& machine,
    const std::vector<perflib::CountersetRegistration>& registrations);

// Tells the source which instances the plan wants (Source::SelectInstances),
// defines the counters that only the plan names (Source::DefineCounters),
// reloads the registrations that this changes, and resolves the plan.
Resolution DefineAndResolve(
    Source& source, Plan plan, const std::string& machine,
    std::vector<perflib::CountersetRegistration>* registrations);

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_COLLECT_RESOLVE_H_
