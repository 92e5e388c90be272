#include "aggregator/services/meanwhile.h"

#include "absl/strings/str_cat.h"
#include "base/config/planned_query.h"
#include "proto/conversions.h"

namespace fleetperf::aggregator {
namespace {

// The limits of one call. A machine collects each counterset with all its
// instances every second.
constexpr size_t kMaxMachines = 1000;
constexpr size_t kMaxCountersets = 20;

v1::PlannedQuery QueryOf(const SelectedCounterset& selected,
                         absl::Duration interval) {
  PlannedQuery query{
      .counterset = selected.schema->registration.guid.ToString(),
      .interval = interval,
      .name = "--collect",
      .meanwhile = true};
  std::set<uint32_t> ids;
  for (const Selection& selection : selected.selections) {
    ids.insert(selection.counter_ids.begin(), selection.counter_ids.end());
  }
  for (const uint32_t id : ids) {
    query.counters.push_back(absl::StrCat("id:", id));
  }
  return ToProto(query);
}

absl::Status TooMany(absl::string_view unit, size_t max) {
  return absl::ResourceExhaustedError(
      absl::StrCat("the paths select more than ", max, " ", unit,
                   ", the limit of one call; select fewer, or add the queries "
                   "to \"plans\" in the aggregator's configuration"));
}

}  // namespace

absl::StatusOr<Meanwhile> PlanMeanwhile(
    const Selected& selected, absl::Duration interval,
    const std::function<bool(const std::string& machine)>& is_connected) {
  Meanwhile meanwhile;
  for (const auto& [machine, countersets] : selected) {
    if (!is_connected(machine)) {
      ++meanwhile.away_machines;
      continue;
    }
    if (meanwhile.queries.size() == kMaxMachines) {
      return TooMany("machines", kMaxMachines);
    }
    std::vector<v1::PlannedQuery>& queries = meanwhile.queries[machine];
    for (const SelectedCounterset& counterset : countersets) {
      if (queries.size() == kMaxCountersets) {
        return TooMany("countersets of a machine", kMaxCountersets);
      }
      queries.push_back(QueryOf(counterset, interval));
      meanwhile.countersets.insert(counterset.schema->registration.name);
    }
  }
  if (meanwhile.queries.empty()) {
    return absl::NotFoundError(
        "no agent that could collect this is connected; see: fleetperf "
        "machines");
  }
  return meanwhile;
}

}  // namespace fleetperf::aggregator
