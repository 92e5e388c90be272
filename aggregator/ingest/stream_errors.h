// The errors of an agent's stream, and what they say about the agent.

#ifndef FLEETPERF_AGGREGATOR_INGEST_STREAM_ERRORS_H_
#define FLEETPERF_AGGREGATOR_INGEST_STREAM_ERRORS_H_

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace fleetperf::aggregator {

// Translates an error of the store: ResourceExhausted to Unavailable. A full
// disk is not a limit that the agent exceeded; the agent sends the data again
// on its next stream.
inline absl::Status FromStore(const absl::Status& status) {
  return absl::IsResourceExhausted(status)
             ? absl::UnavailableError(status.message())
             : status;
}

// The error of a message that the protocol does not permit at this point.
inline absl::Status Unexpected(absl::string_view message) {
  return absl::InvalidArgumentError(absl::StrCat("unexpected ", message));
}

// Returns whether the batch or definition itself is at fault, so that a retry
// would fail too. On other errors, the stream ends and the agent sends the
// batch again on its next stream.
inline bool IsBatchFault(const absl::Status& status) {
  return absl::IsInvalidArgument(status) || absl::IsResourceExhausted(status) ||
         absl::IsFailedPrecondition(status);
}

// Returns whether the agent is not permitted to send the definition.
inline bool IsRefusal(const absl::Status& status) {
  return absl::IsPermissionDenied(status) || absl::IsAlreadyExists(status);
}

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_INGEST_STREAM_ERRORS_H_
