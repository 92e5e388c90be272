// Evaluates the series of one machine for a range query.

#ifndef FLEETPERF_AGGREGATOR_QUERY_MACHINE_ANSWER_H_
#define FLEETPERF_AGGREGATOR_QUERY_MACHINE_ANSWER_H_

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "aggregator/query/query_context.h"
#include "aggregator/query/resolver.h"
#include "aggregator/query/series_reader.h"
#include "aggregator/query/series_result.h"
#include "aggregator/query/window_grid.h"
#include "aggregator/store/readable_store.h"
#include "values/window.h"

namespace fleetperf::aggregator {

struct SeriesAnswer {
  FoundSeries found;    // without the name
  SeriesResult result;  // with the name
};

struct MachineAnswer {
  // The series with a point, by path.
  std::vector<SeriesAnswer> series;
  // The names of all instances in the range, selected or not, if needed.
  InstanceNames instance_names;
  // Whether the machine has a tick in the range, of any counter selected.
  bool has_ticks = false;
  // The maximum number of windows and values in memory at a time.
  size_t max_held = 0;
};

// The options of an evaluation.
struct Evaluation {
  Over over = Over::kFormula;
  bool only_windows = false;  // see RangeEvaluator
  bool unnamed_aggregates = true;
  bool keeps_intervals = false;  // whether SeriesResult::intervals are needed
  bool needs_instance_names = true;
};

// Reads and evaluates one machine. Returns std::nullopt if more than `max_held`
// windows and values would be in memory; the meter then does not count the
// samples read. Returns the errors of the store and the meter. Thread-safe.
absl::StatusOr<std::optional<MachineAnswer>> EvaluateMachine(
    ReadableStore& store, const std::string& machine,
    const std::vector<SelectedCounterset>& countersets, const WindowGrid& grid,
    const Evaluation& evaluation, size_t max_held, QueryMeter* meter);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_QUERY_MACHINE_ANSWER_H_
