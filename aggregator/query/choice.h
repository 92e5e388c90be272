// Selects the series of an answer by their values over the whole range.

#ifndef FLEETPERF_AGGREGATOR_QUERY_CHOICE_H_
#define FLEETPERF_AGGREGATOR_QUERY_CHOICE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "absl/status/status.h"
#include "aggregator/query/series_result.h"
#include "fleetperf/v1/values.pb.h"
#include "proto/condition.h"

namespace fleetperf::aggregator {

// A choice of the series for which `where` holds, or of the first few of these
// of each counter by value: by value * weight over the whole range. A series
// without a value is never chosen.
struct Choice {
  std::optional<Condition> where;
  // At most one of these is not 0. If both are 0, all series are chosen, in the
  // order of arrival. Otherwise those of each counter follow each other.
  uint32_t top = 0;     // the number of largest values, largest first
  uint32_t bottom = 0;  // the number of smallest values, smallest first

  bool is_of_all() const {
    return !where.has_value() && top == 0 && bottom == 0;
  }
};

// The counter of a series and its unit: what has others cannot be compared.
using CounterKey = std::tuple<std::string, std::string, std::string>;

// Returns the parts of the CounterKey of a series, which must outlive them.
inline auto CounterOf(const v1::Series& series) {
  return std::tie(series.counterset(), series.counter(), series.unit());
}

// Passes chosen series on: at once, or in Finish if the choice needs all
// series. Thread-compatible.
class Chooser {
 public:
  Chooser(const Choice& choice, ResultSink sink)
      : choice_(choice), sink_(sink) {}

  absl::Status Add(SeriesResult result);
  absl::Status Finish();

  // The number of values in memory.
  size_t held() const { return held_; }

 private:
  bool is_ranking() const { return choice_.top > 0 || choice_.bottom > 0; }

  // The first series of a counter so far: by value, negative if the largest are
  // chosen, then by arrival. Kept in order, because sorting millions could not
  // be cancelled.
  using Ranking = std::multimap<double, SeriesResult>;

  // Adds a series to the ranking of its counter.
  void Rank(SeriesResult result);

  const Choice choice_;
  const ResultSink sink_;
  std::map<CounterKey, Ranking, std::less<>> rankings_;
  size_t held_ = 0;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_QUERY_CHOICE_H_
