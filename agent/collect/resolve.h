// From the names in a plan to the counters of a source.

#ifndef FLEETPERF_AGENT_COLLECT_RESOLVE_H_
#define FLEETPERF_AGENT_COLLECT_RESOLVE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "agent/collect/plan.h"
#include "perflib/path.h"
#include "perflib/registration.h"

namespace fleetperf::agent {

// One counterset of a planned query.
struct ResolvedQuery {
  size_t planned = 0;  // the position of the planned query in its plan
  perflib::CountersetRegistration registration;
  absl::Duration interval;
  struct Counter {
    uint32_t id;
    bool only_linked;  // not named by the plan: another one's formula needs it

    bool operator==(const Counter&) const = default;
  };
  // The counters whose values are sent, in the order of the registration.
  std::vector<Counter> counters;
  // The counter whose raw value is when an instance started: another one means
  // another life. Queried even if it is not sent.
  std::optional<uint32_t> start_counter_id;
  // An instance is kept if one of these matches. Empty: all are kept.
  std::vector<perflib::Pattern> instances;
  // ... and none of these does: queries before it collect them.
  std::vector<perflib::Pattern> except_instances;
  bool wrap32 = false;  // PlannedQuery::wrap32

  bool operator==(const ResolvedQuery&) const = default;
};

struct Resolution {
  std::vector<ResolvedQuery> queries;
  // What matched nothing: the planned query's position and a message that names
  // what would have matched.
  struct Problem {
    size_t planned;
    std::string message;
  };
  std::vector<Problem> problems;
};

// What the plan's queries for `machine` find in its countersets. A counter of
// an instance that two queries name is collected by the first alone, and
// queries of one counterset that differ in nothing but their counters are one.
Resolution ResolvePlan(
    const Plan& plan, const std::string& machine,
    const std::vector<perflib::CountersetRegistration>& registrations);

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_COLLECT_RESOLVE_H_
