// The metrics of each counterset, for the export.

#ifndef FLEETPERF_AGGREGATOR_EXPORT_EXPORTED_SCHEMA_H_
#define FLEETPERF_AGGREGATOR_EXPORT_EXPORTED_SCHEMA_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "aggregator/query/resolver.h"
#include "aggregator/samples/frame.h"
#include "aggregator/samples/selection.h"
#include "values/counter_formula.h"

namespace fleetperf::aggregator {

struct ExportedCounter {
  CounterFormula formula;
  std::string name_label;  // encoded
  double factor = 1;       // from the counter's unit to the metric's
};

struct ExportedSchema {
  std::shared_ptr<const Schema> schema;
  std::vector<ExportedCounter> counters;  // that can have a value
};

// The names of the series of a raw value, encoded.
struct ExportedRawName {
  std::string low;
  std::string high;  // empty: there is no such series
};

struct ExportedRawSchema {
  std::shared_ptr<const Schema> schema;
  std::vector<ExportedRawName> counters;  // in the order of the registration
  // See RawMetrics.
  ExportedRawName presence;
  ExportedRawName perf_time;
  ExportedRawName perf_freq;
  ExportedRawName perf_time_100ns;
  ExportedRawName status;
  ExportedRawName epoch;
};

// The part of a counterset that the paths of a machine select.
struct ExportedSelection {
  const ExportedSchema* schema = nullptr;
  std::optional<SelectedCounterset> selected;  // unless all
  std::vector<size_t> counters;  // numbers in ExportedSchema::counters
};

// Names the metrics of each counterset, and selects from it, once for all
// machines. Thread-compatible.
class ExportedSchemas {
 public:
  // The results are valid until Trim.
  const ExportedSchema& Get(const std::shared_ptr<const Schema>& schema);
  const ExportedRawSchema& GetRaw(const std::shared_ptr<const Schema>& schema);
  // Same. `paths`, which is null for all counters, must be the same in all
  // calls until Trim. `numbers` are the machine's: PathSet::NumbersFor.
  const ExportedSelection& Select(const PathSet* paths,
                                  const std::vector<size_t>& numbers,
                                  const std::shared_ptr<const Schema>& schema);
  // Forgets the selections, and the countersets if there are too many.
  void Trim();

 private:
  absl::flat_hash_map<std::shared_ptr<const Schema>,
                      std::unique_ptr<const ExportedSchema>>
      schemas_;
  absl::flat_hash_map<std::shared_ptr<const Schema>,
                      std::unique_ptr<const ExportedRawSchema>>
      raw_schemas_;
  using SelectionKey =
      std::pair<std::shared_ptr<const Schema>, std::vector<size_t>>;
  absl::flat_hash_map<SelectionKey, std::unique_ptr<const ExportedSelection>>
      selections_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_EXPORT_EXPORTED_SCHEMA_H_
