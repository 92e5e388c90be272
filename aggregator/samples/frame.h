// Raw samples: consecutive ticks of one query, stored by column. The
// aggregator's parts exchange samples in this form.

#ifndef FLEETPERF_AGGREGATOR_SAMPLES_FRAME_H_
#define FLEETPERF_AGGREGATOR_SAMPLES_FRAME_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "perflib/clocks.h"
#include "perflib/registration.h"
#include "values/causes.h"
#include "values/life.h"

namespace fleetperf::aggregator {

// A counterset as registered on some machines. Machines with the same
// registration share a schema.
struct Schema {
  std::string hash;  // SHA-256 of the registration's canonical bytes
  perflib::CountersetRegistration registration;
};

// The contents of a column.
enum class ColumnRole : uint8_t {
  kRaw,  // the counter's values
  // In thinned data: a field of Summary over the pieces or samples since the
  // previous tick. See thinned_query.h.
  kGrowth,
  kGrowthHigh,
  kDenominator,
  kDenominatorHigh,
  kSmallest,
  kSmallestDenominator,
  kLargest,
  kLargestDenominator,
  kPieces,
  kWithoutValue,
  kBreaks,
  kProblem,
  kCovered,
  kAbsent,
  kOwnBreaks,
  // Only of raw fractions.
  kSum,
  kSumRest,
  kSumRestOfRest,
};
inline constexpr size_t kColumnRoles = 19;

// The limits of the interval of a query.
inline constexpr absl::Duration kMinCollectionInterval = absl::Seconds(1);
inline constexpr absl::Duration kMaxCollectionInterval = absl::Hours(24);

// The data collected of one counterset of one machine, or the remaining data
// after thinning.
struct CollectedQuery {
  struct Column {
    uint32_t counter_id = 0;
    uint32_t value_size = 0;   // 4 or 8
    bool only_linked = false;  // only collected for another column's formula
    bool wraps = false;        // RawValue::wraps
    ColumnRole role = ColumnRole::kRaw;

    bool operator==(const Column&) const = default;
  };

  std::string machine;
  std::shared_ptr<const Schema> schema;
  absl::Duration interval;  // between ticks
  // In thinned data, the original collection interval; otherwise 0.
  absl::Duration thinned_from;
  std::vector<Column> columns;

  bool is_thinned() const { return thinned_from > absl::ZeroDuration(); }
};

// Returns whether both queries may have samples of the same series, at
// different times.
inline bool ShareSeries(const CollectedQuery& a, const CollectedQuery& b) {
  if (a.machine != b.machine || a.schema != b.schema) return false;
  const auto has = [](const CollectedQuery& query, uint32_t counter_id) {
    return std::any_of(query.columns.begin(), query.columns.end(),
                       [&](const CollectedQuery::Column& column) {
                         return column.counter_id == counter_id &&
                                !column.only_linked;
                       });
  };
  return std::any_of(a.columns.begin(), a.columns.end(),
                     [&](const CollectedQuery::Column& column) {
                       return !column.only_linked && has(b, column.counter_id);
                     });
}

// One life of an instance.
struct Instance {
  std::string name;  // empty if the counterset has no instances
  uint32_t instance_id = 0;
  uint32_t occurrence = 0;  // among instances with the same name and id
  uint64_t life = 0;        // unique among all epochs
  // Whether its cumulative counters grew from 0 since the last sound tick
  // before its first one.
  bool is_born = false;

  bool operator==(const Instance&) const = default;
};

// The values of one counter, run by run, and tick by tick in each run.
struct FrameColumn {
  // If true, `values` has one value per run, which applies to all its ticks.
  bool constant = false;
  std::vector<uint64_t> values;
  // Positions without a value, ascending. Positions count the ticks of all
  // runs.
  std::vector<uint32_t> missing;
  // In a folded frame, for gauges that are not constant: what the samples of
  // each run after the first one add up to.
  struct Total {
    uint64_t sum = 0;
    uint64_t smallest = 0;
    uint64_t largest = 0;
  };
  std::vector<Total> totals;

  bool IsMissing(uint32_t position) const {
    return !missing.empty() &&
           std::binary_search(missing.begin(), missing.end(), position);
  }
};

struct Frame {
  std::shared_ptr<const CollectedQuery> query;
  // The clocks of each tick. Shared by the queries of one message.
  std::shared_ptr<const std::vector<perflib::Clocks>> clocks;

  // An instance and the consecutive ticks in which it was seen.
  struct Run {
    std::shared_ptr<const Instance> instance;
    uint32_t first_tick = 0;
    uint32_t tick_count = 0;
    uint32_t begin = 0;  // position of its first value in a column
  };
  // The runs of each instance are in order of time.
  std::vector<Run> runs;

  // One for each column of the query.
  std::vector<FrameColumn> columns;

  // Ticks in which the query failed, ascending.
  struct Failure {
    uint32_t tick = 0;
    uint32_t status = 0;  // a Win32 error code, or 0 if the data was malformed
  };
  std::vector<Failure> failures;

  // The number of the agent's epoch, which no other epoch of the store has.
  uint32_t epoch_number = 0;
  // In thinned data: the nanoseconds of the tick intervals
  // (aggregator/samples/tick_link.h) since the previous tick. Otherwise empty.
  std::vector<int64_t> interval_times;

  // A folded frame has two ticks, the second of which stands for several: it is
  // the last of them. None of these ticks failed, there is no break between
  // their clocks, all runs include all of them, no value is missing, and values
  // of counters other than gauges do not decrease.
  struct Fold {
    uint32_t ticks = 0;   // that the second tick stands for
    int64_t length = 0;   // nanoseconds from the first tick to the last
    int64_t longest = 0;  // the longest nanoseconds between two neighbors
  };
  std::optional<Fold> fold;

  // Returns the status of a query that failed; std::nullopt if it did not.
  std::optional<uint32_t> FailureIn(uint32_t tick) const {
    const auto found = std::lower_bound(
        failures.begin(), failures.end(), tick,
        [](const Failure& failure, uint32_t t) { return failure.tick < t; });
    if (found == failures.end() || found->tick != tick) return std::nullopt;
    return found->status;
  }
  bool HasFailed(uint32_t tick) const { return FailureIn(tick).has_value(); }

  // Returns the raw value of a column in the `tick`-th tick of a run, counted
  // from the run's first. FrameColumn::missing tells whether the value exists.
  uint64_t Value(const FrameColumn& column, size_t run, uint32_t tick) const {
    return column.constant ? column.values[run]
                           : column.values[runs[run].begin + tick];
  }
};

// Ticks that are lost for good.
struct Loss {
  std::string machine;  // empty: all machines of the agent
  absl::Time start;
  absl::Time end;
  uint64_t ticks = 0;
  LossCause cause = LossCause::kUnknown;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SAMPLES_FRAME_H_
