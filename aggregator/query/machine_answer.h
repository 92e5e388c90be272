// What the series of one machine come to in a range query.

#ifndef FLEETPERF_AGGREGATOR_QUERY_MACHINE_ANSWER_H_
#define FLEETPERF_AGGREGATOR_QUERY_MACHINE_ANSWER_H_

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "aggregator/formula/window.h"
#include "aggregator/query/query_context.h"
#include "aggregator/query/resolver.h"
#include "aggregator/query/series_reader.h"
#include "aggregator/query/series_result.h"
#include "aggregator/query/window_grid.h"
#include "aggregator/store/store.h"

namespace fleetperf::aggregator {

struct SeriesAnswer {
  FoundSeries found;    // without its name,
  SeriesResult result;  // which is here
};

struct MachineAnswer {
  // Those with a point.
  std::vector<SeriesAnswer> series;
  // Of all instances that there were, wanted or not.
  std::set<std::string> instance_names;
  // How many windows and values were in memory at a time, at most.
  size_t most_held = 0;
};

// How samples become values.
struct Evaluation {
  Over over = Over::kFormula;
  bool only_windows = false;  // see RangeEvaluator
  bool unnamed_aggregates = true;
};

// Reads one machine. Nothing if more than `most_held` windows and values would
// be in memory; the meter does not count what it read then. Thread-safe. Errors
// are the store's and the meter's.
absl::StatusOr<std::optional<MachineAnswer>> EvaluateMachine(
    Store& store, const std::string& machine,
    const std::vector<SelectedCounterset>& countersets, const WindowGrid& grid,
    const Evaluation& evaluation, size_t most_held, QueryMeter* meter);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_QUERY_MACHINE_ANSWER_H_
