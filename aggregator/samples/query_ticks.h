// The oldest and the newest tick of a query.

#ifndef FLEETPERF_AGGREGATOR_SAMPLES_QUERY_TICKS_H_
#define FLEETPERF_AGGREGATOR_SAMPLES_QUERY_TICKS_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>

#include "absl/time/time.h"
#include "aggregator/samples/frame.h"

namespace fleetperf::aggregator {

// The newest tick of a query, for queries that collect the same counters.
// Thread-safe.
class QueryTicks {
 public:
  explicit QueryTicks(const CollectedQuery& query);

  // Notes the tick that arrived last. `arrival` is Clock::Monotonic().
  void Note(absl::Time tick, absl::Duration arrival = absl::ZeroDuration());
  // Return std::nullopt if no tick was noted.
  std::optional<absl::Time> oldest() const { return TimeOf(oldest_); }
  std::optional<absl::Time> newest() const { return TimeOf(newest_); }
  // Of the newest tick, which is older than others if the machine's clock was
  // set back.
  absl::Duration arrival() const { return absl::Nanoseconds(arrival_.load()); }

  // Whether `query` collects the same counters at the same interval.
  bool IsOf(const CollectedQuery& query) const;
  bool Has(const Schema& schema) const;
  bool Has(const Schema& schema, uint32_t counter_id) const;
  const std::shared_ptr<const Schema>& schema() const { return schema_; }
  absl::Duration interval() const { return interval_; }
  const std::set<uint32_t>& counters() const { return counters_; }

 private:
  // In nanoseconds since 1970; kNone: not noted.
  static constexpr int64_t kNone = INT64_MIN;
  static std::optional<absl::Time> TimeOf(int64_t unix_nanos);

  const std::shared_ptr<const Schema> schema_;
  const absl::Duration interval_;
  const std::set<uint32_t> counters_;
  std::atomic<int64_t> oldest_ = kNone;
  std::atomic<int64_t> newest_ = kNone;
  std::atomic<int64_t> arrival_ = 0;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SAMPLES_QUERY_TICKS_H_
