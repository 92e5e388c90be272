// The raw series of an engine that a read of one machine needs.

#ifndef FLEETPERF_AGGREGATOR_HISTORY_ENGINE_QUESTION_H_
#define FLEETPERF_AGGREGATOR_HISTORY_ENGINE_QUESTION_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "aggregator/samples/selection.h"

namespace fleetperf::aggregator {

// The kind of the samples of a raw series.
struct SeriesRole {
  enum class Kind : uint8_t {
    kPerfTime,
    kPerfFreq,
    kPerfTime100NSec,
    kStatus,
    kEpoch,
    kPresence,
    kColumn,
  };
  size_t counterset = 0;  // in the selection
  Kind kind = Kind::kColumn;
  bool is_high = false;
  uint32_t counter_id = 0;  // of kColumn
};

// Immutable.
class EngineQuestion {
 public:
  // `selected` must outlive the object.
  EngineQuestion(absl::string_view machine,
                 const std::vector<SelectedCounterset>& selected);

  const std::vector<SelectedCounterset>& selected() const { return selected_; }

  // Selectors of PromQL, each short enough for engines, which together select
  // all that is needed: the ticks of the countersets, and the selected
  // instances with the columns of the selected counters' formulas. They may
  // select other instances, too.
  const std::vector<std::string>& selectors() const { return selectors_; }

  // Returns null for a series that is not needed.
  const SeriesRole* Find(absl::string_view schema,
                         absl::string_view metric) const;

 private:
  void Add(const SelectedCounterset& counterset, size_t number,
           const std::string& machine);

  const std::vector<SelectedCounterset>& selected_;
  std::vector<std::string> selectors_;
  // By the text of the schema, and the metric behind it.
  absl::flat_hash_map<std::string, SeriesRole> roles_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_HISTORY_ENGINE_QUESTION_H_
