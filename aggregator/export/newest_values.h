// Reads the newest value of each series of a machine, for scrapers.

#ifndef FLEETPERF_AGGREGATOR_EXPORT_NEWEST_VALUES_H_
#define FLEETPERF_AGGREGATOR_EXPORT_NEWEST_VALUES_H_

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "aggregator/export/exported_schema.h"
#include "aggregator/export/write_request.h"
#include "aggregator/query/cancellation.h"
#include "aggregator/query/resolver.h"
#include "aggregator/store/store.h"

namespace fleetperf::aggregator {

struct NewestValuesRequest {
  std::string machine;
  absl::Time oldest;               // older values are left out
  const PathSet* paths = nullptr;  // that select counters; null: all
  IsCancelled is_cancelled = nullptr;
};

// Calls `add` with the newest value of each series, and with its labels as
// EncodeLabels returns them, in no order. A value is one of the last three
// ticks of the series' query; an instance that is absent from the last sound
// tick has none. Queries that the plan no longer has are left out. Returns the
// first error of `add`.
absl::Status ReadNewestValues(
    const NewestValuesRequest& request, Store* store, ExportedSchemas* schemas,
    absl::FunctionRef<absl::Status(absl::string_view labels,
                                   const ExportSample& sample)>
        add);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_EXPORT_NEWEST_VALUES_H_
