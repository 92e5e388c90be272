// Sends a request to an engine, without what the engine refuses.

#ifndef FLEETPERF_AGGREGATOR_EXPORT_REQUEST_SENDER_H_
#define FLEETPERF_AGGREGATOR_EXPORT_REQUEST_SENDER_H_

#include <cstdint>

#include "absl/status/status.h"
#include "aggregator/export/remote_write_client.h"
#include "aggregator/export/write_request.h"

namespace fleetperf::aggregator {

struct SentRequest {
  uint64_t samples = 0;   // that the engine has
  uint64_t requests = 0;  // that the engine has
  uint64_t refused = 0;   // samples
  absl::Status refusal;   // the last one
};

// Sends all series of a request. Engines refuse a request for one sample. A
// refused request is divided and sent again: between its machines first, then,
// a bounded number of times, between the series of a machine. What is refused
// in the end is counted. Returns the errors of RemoteWriteClient::Send other
// than InvalidArgument; the engine may then have a part of the request.
absl::Status SendRequest(const WriteRequestBuilder& request,
                         RemoteWriteClient* client, SentRequest* sent);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_EXPORT_REQUEST_SENDER_H_
