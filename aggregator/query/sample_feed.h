// Picks out of frames the samples of the series that are wanted.

#ifndef FLEETPERF_AGGREGATOR_QUERY_SAMPLE_FEED_H_
#define FLEETPERF_AGGREGATOR_QUERY_SAMPLE_FEED_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "aggregator/formula/counter_formula.h"
#include "aggregator/query/resolver.h"
#include "aggregator/samples/frame.h"
#include "aggregator/samples/series_run.h"

namespace fleetperf::aggregator {

// Takes the samples of series.
class SampleSink {
 public:
  virtual ~SampleSink() = default;

  // A series that was not seen before. Returns the number that the sink knows
  // it by. If `wanted_indexes` is not empty, the paths want it only if it is
  // one of these among the instances of its name.
  virtual size_t AddSeries(const Instance& instance,
                           const CounterFormula& formula,
                           std::vector<uint32_t> wanted_indexes) = 0;

  // Samples of a series, in order, from consecutive ticks.
  virtual void AddRun(size_t series, const SeriesRun& run) = 0;
};

// The wanted series of one counterset of one machine. Thread-compatible.
class SampleFeed {
 public:
  SampleFeed(const SelectedCounterset& selected, SampleSink* sink);

  const std::shared_ptr<const Schema>& schema() const { return schema_; }

  // Which columns of a query's frames are needed, by number.
  std::vector<bool> WantedColumns(const CollectedQuery& query);
  // Whether an instance may have a series. Frames need no others.
  bool Wants(const Instance& instance);

  // The names of all instances that were in frames or asked for, wanted or not.
  std::set<std::string> InstanceNames() const;

  // How many instances it remembers.
  size_t instances() const { return series_.size(); }

  // Forgets the instances all of whose series `is_over` says are, and those of
  // which no series is wanted. Returns the numbers of their series: what comes
  // of them later are new ones.
  std::vector<size_t> Forget(absl::FunctionRef<bool(size_t)> is_over);

  // Feeds the sink with the wanted samples of `frame`. Frames of other
  // countersets have none.
  void Add(const Frame& frame);

 private:
  // A counter and where its formula finds its values in frames of a query.
  struct Columns {
    size_t counter;  // position in formulas_
    SeriesColumns columns;
  };
  // An instance's series, by position in formulas_; nothing if not wanted.
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
  std::vector<CounterFormula> formulas_;  // of all wanted counters
  absl::flat_hash_map<std::shared_ptr<const CollectedQuery>,
                      std::vector<Columns>>
      columns_;
  absl::flat_hash_map<std::string, bool> names_;  // and whether they are wanted
  absl::flat_hash_map<InstanceKey, std::unique_ptr<SeriesOfInstance>> series_;
  // Finds what was found before without comparing names.
  absl::flat_hash_map<std::shared_ptr<const Instance>, const SeriesOfInstance*>
      series_of_life_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_QUERY_SAMPLE_FEED_H_
