// The counters and instances that a question selects in a counterset.

#ifndef FLEETPERF_AGGREGATOR_SAMPLES_SELECTION_H_
#define FLEETPERF_AGGREGATOR_SAMPLES_SELECTION_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "aggregator/samples/frame.h"
#include "perflib/path.h"

namespace fleetperf::aggregator {

// The counters and instances of one counterset that a path selects.
struct Selection {
  std::optional<perflib::Pattern> instance;  // std::nullopt: no instances
  std::optional<uint32_t> instance_index;
  std::vector<uint32_t> counter_ids;
  std::optional<perflib::Pattern> literal_instance;  // see perflib::Path

  bool MatchesInstance(const std::string& name) const;
  // Whether an instance is selected by its whole name, with any index.
  bool IsLiteral(const std::string& name) const;
  // Whether a series is selected. `index` is the number of its instance among
  // those with its name.
  bool Selects(uint32_t counter_id, const std::string& name,
               uint32_t index) const;
};

// The selections of all paths in one counterset of one machine.
struct SelectedCounterset {
  std::shared_ptr<const Schema> schema;
  std::vector<Selection> selections;

  // Whether a path selects a series.
  bool Selects(uint32_t counter_id, const std::string& instance,
               uint32_t index) const;
  // Whether a path that selects the series, whose instance is an aggregate,
  // names the aggregate: its instance has no wildcards, or ends as aggregates
  // of a part do, in ",_Total".
  bool NamesAggregate(uint32_t counter_id, const std::string& instance,
                      uint32_t index) const;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SAMPLES_SELECTION_H_
