// Reads the samples of selected series.

#ifndef FLEETPERF_AGGREGATOR_QUERY_SERIES_READER_H_
#define FLEETPERF_AGGREGATOR_QUERY_SERIES_READER_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "aggregator/query/path_check.h"
#include "aggregator/query/resolver.h"
#include "aggregator/samples/series_run.h"
#include "aggregator/store/readable_store.h"
#include "fleetperf/v1/values.pb.h"
#include "values/counter_formula.h"

namespace fleetperf::aggregator {

// Receives the samples of a machine's series, those of each series in the order
// of epochs and sequences. Series are numbered from 0.
class SeriesSink {
 public:
  virtual ~SeriesSink() = default;

  // Counts work as QueryMeter::Work does. An error ends the read.
  virtual absl::Status Work(size_t steps) = 0;
  // Whether frames may be folded (see Frame::fold) that have samples of a
  // series, and whose ticks after the first one are from `second` to `last`, in
  // units of PerfTime100NSec.
  virtual bool TakesFolded(const CounterFormula&, absl::Duration /*interval*/,
                           int64_t /*second*/, int64_t /*last*/) {
    return false;
  }
  // Whether the smallest and largest values in thinned data are needed.
  virtual bool NeedsExtremes(const CounterFormula&) { return true; }
  // Whether MachineSeries::instance_names are needed.
  virtual bool NeedsInstanceNames() { return true; }
  // Announces a frame with ticks, before its samples.
  virtual void BeginFrame(const Frame&) {}
  // Adds the series with the next number.
  virtual void Begin(const CounterFormula& formula) = 0;
  // Adds samples of consecutive ticks. An error ends the read.
  virtual absl::Status Add(size_t series, const SeriesRun& run) = 0;
};

// A series with samples.
struct FoundSeries {
  v1::Series series;  // with id 0
  CounterFormula formula;
  uint32_t aggregate_function = 0;  // PERF_AGGREGATE_
  Instance instance;
  std::shared_ptr<const Schema> schema;
  // Whether the instance is an aggregate of others that no path names.
  bool is_unnamed_aggregate = false;
  // The counterset's last tick with a complete list of instances, and the
  // interval of such ticks.
  absl::Time last_tick;
  absl::Duration interval;
  size_t number = 0;  // the sink's number of the series
};

struct MachineSeries {
  std::vector<FoundSeries> series;
  std::vector<Loss> losses;
  // The names of all instances in the range, selected or not, if needed.
  InstanceNames instance_names;
};

// Returns the longest interval of the machine's selected counters.
absl::Duration LongestInterval(const Directory& directory,
                               const std::string& machine,
                               const std::vector<SelectedCounterset>& selected);

// Reads the series of one machine with samples after `from` and up to `to`. The
// sink also gets the samples before that the first values need, and may get
// other ones.
absl::StatusOr<MachineSeries> ReadSeries(
    ReadableStore& store, const std::string& machine,
    const std::vector<SelectedCounterset>& selected, absl::Time from,
    absl::Time to, SeriesSink* sink);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_QUERY_SERIES_READER_H_
