// Reads the samples of the series that paths select.

#ifndef FLEETPERF_AGGREGATOR_QUERY_SERIES_READER_H_
#define FLEETPERF_AGGREGATOR_QUERY_SERIES_READER_H_

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "aggregator/formula/counter_formula.h"
#include "aggregator/query/resolver.h"
#include "aggregator/samples/series_run.h"
#include "aggregator/store/store.h"
#include "fleetperf/v1/values.pb.h"

namespace fleetperf::aggregator {

// Takes the samples of a machine's series, of each in the order of epochs and
// sequences. Series are numbered from 0.
class SeriesSink {
 public:
  virtual ~SeriesSink() = default;

  // The next series begins.
  virtual void Begin(const CounterFormula& formula) = 0;
  // Some samples of consecutive ticks. An error ends the reading.
  virtual absl::Status Add(size_t series, const SeriesRun& run) = 0;
};

// A series that has samples.
struct FoundSeries {
  v1::Series series;  // its id is 0
  CounterFormula formula;
  uint32_t aggregate_function = 0;  // PERF_AGGREGATE_
  Instance instance;
  std::shared_ptr<const Schema> schema;
  // Stands for all other instances, and no path names it.
  bool is_unnamed_aggregate = false;
  // Of its counterset: the last tick that tells which instances there are, and
  // the time between two.
  absl::Time last_tick;
  absl::Duration interval;
  size_t number = 0;  // that the sink knows the series by
};

struct MachineSeries {
  std::vector<FoundSeries> series;
  std::vector<Loss> losses;
  // Of all instances that there were, wanted or not.
  std::set<std::string> instance_names;
};

// The longest interval at which anything that is selected of a machine is
// collected.
absl::Duration LongestInterval(const Directory& directory,
                               const std::string& machine,
                               const std::vector<SelectedCounterset>& selected);

// The series of one machine with samples from `from` to `to`. The sink gets
// some samples before `from`, too: those that the first values rest on; and
// perhaps some behind `to`.
absl::StatusOr<MachineSeries> ReadSeries(
    Store& store, const std::string& machine,
    const std::vector<SelectedCounterset>& selected, absl::Time from,
    absl::Time to, SeriesSink* sink);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_QUERY_SERIES_READER_H_
