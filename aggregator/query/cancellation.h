// Ends the work for a caller that is gone.

#ifndef FLEETPERF_AGGREGATOR_QUERY_CANCELLATION_H_
#define FLEETPERF_AGGREGATOR_QUERY_CANCELLATION_H_

#include <functional>

#include "absl/status/status.h"

namespace fleetperf::aggregator {

// Returns whether the caller cancelled the request, disconnected, or set a
// deadline that has passed, or whether the server stops. Empty: never. Must be
// cheap: it is called for each machine.
using IsCancelled = std::function<bool()>;

// Returns Cancelled if the caller is gone.
inline absl::Status CheckNotCancelled(const IsCancelled& is_cancelled) {
  if (!is_cancelled || !is_cancelled()) return absl::OkStatus();
  return absl::CancelledError("the caller cancelled the query");
}

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_QUERY_CANCELLATION_H_
