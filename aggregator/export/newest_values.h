// Reads the newest value of each series of a machine, for scrapers.

#ifndef FLEETPERF_AGGREGATOR_EXPORT_NEWEST_VALUES_H_
#define FLEETPERF_AGGREGATOR_EXPORT_NEWEST_VALUES_H_

#include <cstddef>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "aggregator/export/exported_schema.h"
#include "aggregator/export/write_request.h"
#include "aggregator/query/query_context.h"
#include "aggregator/query/resolver.h"
#include "aggregator/samples/labels.h"
#include "aggregator/store/store.h"

namespace fleetperf::aggregator {

struct NewestValuesRequest {
  std::string machine;
  Labels labels;                   // of all series
  absl::Time oldest;               // older values are left out
  const PathSet* paths = nullptr;  // that select counters; null: all
  QueryMeter* meter = nullptr;     // counts what is read; required
  size_t max_bytes = 0;            // of the values in memory, about
};

// By labels, as EncodeLabels returns them.
using NewestValues = absl::flat_hash_map<std::string, ExportSample>;

// Returns the newest value of each series. A value is one of the last three
// ticks of the series' query; an instance that is absent from the last sound
// tick has none. Queries that the plan no longer has are left out. Returns
// OutOfRange, with the next step, if the values have more than `max_bytes`,
// errors of the meter, and errors of the store.
absl::StatusOr<NewestValues> ReadNewestValues(
    const NewestValuesRequest& request, Store* store, ExportedSchemas* schemas);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_EXPORT_NEWEST_VALUES_H_
