// All live streams: viewers that ask for the same share a subscription.

#ifndef FLEETPERF_AGGREGATOR_WEB_LIVE_STREAMS_H_
#define FLEETPERF_AGGREGATOR_WEB_LIVE_STREAMS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "aggregator/services/subscriptions.h"
#include "aggregator/web/reply.h"
#include "fleetperf/v1/subscription.pb.h"

namespace fleetperf::aggregator::web {

// The limit of series of a stream, which ends with ResourceExhausted beyond it.
inline constexpr size_t kMaxStreamSeries = 20'000;

// One thread encodes the messages of all streams. Thread-safe.
class LiveStreams {
 public:
  // `subscriptions` must outlive the object, and the hub's threads.
  explicit LiveStreams(Subscriptions* subscriptions);
  // Ends the subscriptions.
  ~LiveStreams();

  // Streams values to `reply` until the client is gone. Takes one of the
  // places for subscribers of the caller (PeerIdentity::Key), and one of its
  // places for streams unless a stream of the same request exists. Does not
  // wait.
  void Join(const v1::SubscribeRequest& request, const std::string& caller,
            bool keeps_alive, const std::shared_ptr<Reply>& reply);

 private:
  class Core;

  // Tasks of the hub, which may run after the destructor, keep it alive.
  const std::shared_ptr<Core> core_;
  std::thread thread_;
};

}  // namespace fleetperf::aggregator::web

#endif  // FLEETPERF_AGGREGATOR_WEB_LIVE_STREAMS_H_
