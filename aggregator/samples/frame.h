// Raw samples as the aggregator's parts hand them to each other: some
// consecutive ticks of one query, column by column.

#ifndef FLEETPERF_AGGREGATOR_SAMPLES_FRAME_H_
#define FLEETPERF_AGGREGATOR_SAMPLES_FRAME_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "aggregator/formula/life.h"
#include "perflib/clocks.h"
#include "perflib/registration.h"

namespace fleetperf::aggregator {

// A counterset as some machines have it registered. Machines with the same
// registration share one.
struct Schema {
  std::string hash;  // SHA-256 of the registration's canonical bytes
  perflib::CountersetRegistration registration;
};

// What a column has of its counter.
enum class ColumnRole : uint8_t {
  kRaw,  // its values
  // In thinned data, of the pieces or samples since the tick before: what
  // Summary has of them, as thinned_query.h says.
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
};
inline constexpr size_t kColumnRoles = 14;

// What is collected of one counterset of one machine, or is left of it in
// thinned data.
struct CollectedQuery {
  struct Column {
    uint32_t counter_id = 0;
    uint32_t value_size = 0;   // 4 or 8
    bool only_linked = false;  // here only for another column's formula
    bool wraps = false;        // RawValue::wraps
    ColumnRole role = ColumnRole::kRaw;

    bool operator==(const Column&) const = default;
  };

  std::string machine;
  std::shared_ptr<const Schema> schema;
  absl::Duration interval;  // between ticks
  // In thinned data, the interval at which they were collected; otherwise 0.
  absl::Duration thinned_from;
  std::vector<Column> columns;

  bool is_thinned() const { return thinned_from > absl::ZeroDuration(); }
};

// Whether both may have samples of the same series, at different times.
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
  std::string name;  // empty where the counterset has no instances
  uint32_t instance_id = 0;
  uint32_t occurrence = 0;  // among those with the same name and id
  uint64_t life = 0;        // no other life, of any epoch, has this number
};

// The values of one counter, run by run and in each tick by tick.
struct FrameColumn {
  // If constant, one value per run, which stands for all its ticks.
  bool constant = false;
  std::vector<uint64_t> values;
  // Positions without a value, ascending, counted over all runs' ticks.
  std::vector<uint32_t> missing;

  bool IsMissing(uint32_t position) const {
    return !missing.empty() &&
           std::binary_search(missing.begin(), missing.end(), position);
  }
};

struct Frame {
  std::shared_ptr<const CollectedQuery> query;
  // One per tick. Shared by the queries of one message.
  std::shared_ptr<const std::vector<perflib::Clocks>> clocks;

  // An instance and the consecutive ticks that it was seen in.
  struct Run {
    std::shared_ptr<const Instance> instance;
    uint32_t first_tick = 0;
    uint32_t tick_count = 0;
    uint32_t begin = 0;  // position of its first value in a column
  };
  // Those of one instance are in the order of time.
  std::vector<Run> runs;

  // One for each column of the query.
  std::vector<FrameColumn> columns;

  // Ticks in which the query failed, ascending.
  struct Failure {
    uint32_t tick = 0;
    uint32_t status = 0;  // a Win32 error code, or 0 if the bytes were wrong
  };
  std::vector<Failure> failures;

  bool HasFailed(uint32_t tick) const {
    const auto found = std::lower_bound(
        failures.begin(), failures.end(), tick,
        [](const Failure& failure, uint32_t t) { return failure.tick < t; });
    return found != failures.end() && found->tick == tick;
  }

  // The raw value of a column in the `tick`-th tick of a run, counted from the
  // run's first. Whether there is one, `missing` says.
  uint64_t Value(const FrameColumn& column, size_t run, uint32_t tick) const {
    return column.constant ? column.values[run]
                           : column.values[runs[run].begin + tick];
  }
};

enum class LossCause : uint8_t {
  kUnknown,
  kSpoolFull,
  kSpoolExpired,
  kSpoolDamaged,
  kDiskFull,
  kRejected,
  kOverrun,
  kSourceFailed,
  kPowerCut,
  kStoreDamaged,
};
inline constexpr LossCause kLastLossCause = LossCause::kStoreDamaged;

// "spool_full"
absl::string_view LossCauseName(LossCause cause);

// Ticks that will never come.
struct Loss {
  std::string machine;  // empty: all of the agent's
  absl::Time start;
  absl::Time end;
  uint64_t ticks = 0;
  LossCause cause = LossCause::kUnknown;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SAMPLES_FRAME_H_
