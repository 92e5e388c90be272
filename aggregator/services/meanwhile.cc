#include "aggregator/services/meanwhile.h"

#include "absl/strings/str_cat.h"
#include "base/planned_query.h"
#include "proto/conversions.h"

namespace fleetperf::aggregator {
namespace {

// Of one call. A machine collects each counterset with all its instances, each
// second.
constexpr size_t kMostMachines = 1000;
constexpr size_t kMostCountersets = 20;

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

absl::Status TooMany(absl::string_view what, size_t most) {
  return absl::ResourceExhaustedError(
      absl::StrCat("the paths select more than ", most, " ", what,
                   ", which are the most at a time; name fewer, or add them "
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
    if (meanwhile.queries.size() == kMostMachines) {
      return TooMany("machines", kMostMachines);
    }
    std::vector<v1::PlannedQuery>& queries = meanwhile.queries[machine];
    for (const SelectedCounterset& counterset : countersets) {
      if (queries.size() == kMostCountersets) {
        return TooMany("countersets of a machine", kMostCountersets);
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
