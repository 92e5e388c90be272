#include "aggregator/samples/query_ticks.h"

#include "aggregator/samples/counterset_list.h"

namespace fleetperf::aggregator {

QueryTicks::QueryTicks(const CollectedQuery& query)
    : schema_(query.schema),
      interval_(query.interval),
      counters_(SeriesCountersOf(query)) {}

void QueryTicks::Note(absl::Time tick, absl::Duration arrival) {
  const int64_t nanos = absl::ToUnixNanos(tick);
  if (oldest_ == kNone) oldest_ = nanos;
  arrival_ = absl::ToInt64Nanoseconds(arrival);
  newest_ = nanos;
}

std::optional<absl::Time> QueryTicks::TimeOf(int64_t unix_nanos) {
  if (unix_nanos == kNone) return std::nullopt;
  return absl::FromUnixNanos(unix_nanos);
}

bool QueryTicks::IsOf(const CollectedQuery& query) const {
  return query.schema->hash == schema_->hash && query.interval == interval_ &&
         SeriesCountersOf(query) == counters_;
}

bool QueryTicks::Has(const Schema& schema) const {
  return &schema == schema_.get() || schema.hash == schema_->hash;
}

bool QueryTicks::Has(const Schema& schema, uint32_t counter_id) const {
  return Has(schema) && counters_.contains(counter_id);
}

}  // namespace fleetperf::aggregator
