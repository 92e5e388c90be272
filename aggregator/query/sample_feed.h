// Extracts the samples of selected series from frames.

#ifndef FLEETPERF_AGGREGATOR_QUERY_SAMPLE_FEED_H_
#define FLEETPERF_AGGREGATOR_QUERY_SAMPLE_FEED_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "aggregator/query/resolver.h"
#include "aggregator/samples/frame.h"
#include "aggregator/samples/series_run.h"
#include "values/counter_formula.h"

namespace fleetperf::aggregator {

// Receives the samples of series.
class SampleSink {
 public:
  virtual ~SampleSink() = default;

  // Adds a new series. Returns the sink's number for it. If `wanted_indexes` is
  // not empty, the paths select the series only if its index among the
  // instances with its name is one of these.
  virtual size_t AddSeries(const Instance& instance,
                           const CounterFormula& formula,
                           std::vector<uint32_t> wanted_indexes) = 0;

  // Adds samples of a series, in order, from consecutive ticks.
  virtual void AddRun(size_t series, const SeriesRun& run) = 0;

  // Whether the smallest and largest values in thinned data are needed.
  virtual bool NeedsExtremes(const CounterFormula&) { return true; }
};

// The selected series of one counterset of one machine. Thread-compatible.
class SampleFeed {
 public:
  SampleFeed(const SelectedCounterset& selected, SampleSink* sink);

  const std::shared_ptr<const Schema>& schema() const { return schema_; }

  // Returns for each column of a query's frames whether it is needed.
  std::vector<bool> WantedColumns(const CollectedQuery& query);
  // Returns the formulas of the selected counters in a query's frames.
  std::vector<CounterFormula> Formulas(const CollectedQuery& query) const;
  // Whether an instance may have a selected series. Frames may omit others.
  bool Wants(const Instance& instance) const;

  // The number of instances in memory.
  size_t instances() const { return series_.size(); }

  // Forgets instances without selected series, and instances whose series are
  // all over by `is_over`. Returns the numbers of their series. If such an
  // instance returns, its series are new ones.
  std::vector<size_t> Forget(absl::FunctionRef<bool(size_t)> is_over);

  // Passes the selected samples of `frame` to the sink. Ignores frames of other
  // countersets.
  void Add(const Frame& frame);

 private:
  // A counter and the columns of its formula in frames of a query.
  struct Columns {
    size_t counter;  // position in formulas_
    SeriesColumns columns;
  };
  // An instance's series by position in formulas_; std::nullopt: not selected.
  using SeriesOfInstance = std::vector<std::optional<size_t>>;
  using InstanceKey = std::tuple<std::string, uint32_t, uint32_t>;

  std::vector<Columns> FindColumns(const CollectedQuery& query) const;
  const std::vector<Columns>& ColumnsOf(
      const std::shared_ptr<const CollectedQuery>& query);
  const SeriesOfInstance& SeriesOf(
      const std::shared_ptr<const Instance>& instance);

  const std::shared_ptr<const Schema> schema_;
  const std::vector<Selection> selections_;
  SampleSink& sink_;
  std::vector<CounterFormula> formulas_;  // of all selected counters
  absl::flat_hash_map<std::shared_ptr<const CollectedQuery>,
                      std::vector<Columns>>
      columns_;
  absl::flat_hash_map<InstanceKey, std::unique_ptr<SeriesOfInstance>> series_;
  // A cache that finds known instances without comparing names.
  absl::flat_hash_map<std::shared_ptr<const Instance>, const SeriesOfInstance*>
      series_of_life_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_QUERY_SAMPLE_FEED_H_
