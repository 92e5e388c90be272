// Translates the store's errors for an agent's stream.

#ifndef FLEETPERF_AGGREGATOR_INGEST_FROM_STORE_H_
#define FLEETPERF_AGGREGATOR_INGEST_FROM_STORE_H_

#include "absl/status/status.h"

namespace fleetperf::aggregator {

// Translates ResourceExhausted to Unavailable. A full disk is not a limit that
// the agent exceeded; the agent sends the data again on its next stream.
inline absl::Status FromStore(const absl::Status& status) {
  return absl::IsResourceExhausted(status)
             ? absl::UnavailableError(status.message())
             : status;
}

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_INGEST_FROM_STORE_H_
