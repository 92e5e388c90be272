// Answers a peer that asks for samples.

#ifndef FLEETPERF_AGGREGATOR_PEERS_SAMPLE_ANSWER_H_
#define FLEETPERF_AGGREGATOR_PEERS_SAMPLE_ANSWER_H_

#include "absl/status/status.h"
#include "aggregator/peers/sample_encoder.h"
#include "aggregator/query/cancellation.h"
#include "aggregator/store/store.h"
#include "fleetperf/v1/peer.pb.h"

namespace fleetperf::aggregator {

// Passes on the selected samples of a store, which `samples` has, wherever they
// are. Countersets that the machine does not have there are left out. Returns
// the errors of the store and of `send`, and Cancelled if the peer is gone.
// Thread-safe.
absl::Status AnswerReadSamples(const Store& store, ReadableStore& samples,
                               const v1::ReadSamplesRequest& request,
                               const IsCancelled& is_cancelled,
                               SampleEncoder::Send send);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_PEERS_SAMPLE_ANSWER_H_
