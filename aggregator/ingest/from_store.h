// The store's errors as an agent's stream has them.

#ifndef FLEETPERF_AGGREGATOR_INGEST_FROM_STORE_H_
#define FLEETPERF_AGGREGATOR_INGEST_FROM_STORE_H_

#include "absl/status/status.h"

namespace fleetperf::aggregator {

// A full disk is no limit that the agent broke: what does not fit comes again
// with the agent's next stream.
inline absl::Status FromStore(const absl::Status& status) {
  return absl::IsResourceExhausted(status)
             ? absl::UnavailableError(status.message())
             : status;
}

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_INGEST_FROM_STORE_H_
