// A subscription at a peer.

#ifndef FLEETPERF_AGGREGATOR_PEERS_PEER_STREAM_H_
#define FLEETPERF_AGGREGATOR_PEERS_PEER_STREAM_H_

#include <functional>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "aggregator/peers/peers.h"
#include "fleetperf/v1/subscription.pb.h"

namespace fleetperf::aggregator {

// The peer sends its next message when the last one is taken, apart from those
// that are in gRPC's buffers. Thread-compatible.
class PeerStream {
 public:
  // Begins. `on_event` is called on a thread of gRPC, without a lock, when the
  // other functions may return something new; perhaps once more after the end
  // of the object.
  PeerStream(std::shared_ptr<PeerChannel> peer,
             const v1::SubscribeRequest& request,
             std::function<void()> on_event);
  // Cancels the call. Does not wait.
  ~PeerStream();

  // Moves the next message to `message`. Returns false if there is none yet.
  bool Take(v1::SubscribeResponse* message);

  // Returns the error that the stream ended with, once all messages are taken.
  // InvalidArgument and ResourceExhausted are errors of the request, which the
  // peer would return again; others are Unavailable.
  std::optional<absl::Status> ended() const;

 private:
  class Call;
  const std::shared_ptr<Call> call_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_PEERS_PEER_STREAM_H_
