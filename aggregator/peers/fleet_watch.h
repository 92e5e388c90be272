// A subscription to the machines of all aggregators.
//
//   own subscription ─▶ Outbox ─┐
//   peer ─▶ PeerStream ─────────┼─▶ LiveMerge ─▶ Outbox ─▶ subscriber
//   peer ─▶ PeerStream ─────────┘

#ifndef FLEETPERF_AGGREGATOR_PEERS_FLEET_WATCH_H_
#define FLEETPERF_AGGREGATOR_PEERS_FLEET_WATCH_H_

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "aggregator/peers/live_merge.h"
#include "aggregator/peers/peer_stream.h"
#include "aggregator/peers/peers.h"
#include "aggregator/subscribe/outbox.h"
#include "base/backoff.h"
#include "fleetperf/v1/subscription.pb.h"

namespace fleetperf::aggregator {

// Invariants:
// - The subscriber's first message waits for the first ones of all aggregators,
//   but for some seconds at most. It has the paths that match nothing at any of
//   those that answered.
// - A stream that ends is begun again, after its last values; at the same time
//   as before if it had not sent all that was stored. Meanwhile, its aggregator
//   is unreachable, and the subscriber is told so. The series that the new
//   stream does not have end when it has sent what is stored.
// - While the subscriber reads too slowly, nothing is taken from the streams;
//   the outboxes at their other ends then keep the newest values only.
// Thread-compatible.
class FleetWatch {
 public:
  struct Options {
    v1::SubscribeRequest request;
    // The outbox of the subscriber, which the watch begins, fills, and ends if
    // it fails.
    std::shared_ptr<Outbox> merged;
    // The outbox of a subscription to the own machines, whose request is for
    // them only.
    std::shared_ptr<Outbox> own;
    std::string own_store_id;
    // Called on any thread when Work has something to do, perhaps after the end
    // of the watch.
    std::function<void()> wake;
  };

  explicit FleetWatch(Options options);
  ~FleetWatch();

  // Does what can be done. Returns the Clock::Monotonic() at which it must be
  // called again, if `wake` is not called before. `now` is that of the call.
  absl::Duration Work(const Peers::List& peers, absl::Duration now);

 private:
  struct Source {
    std::shared_ptr<PeerChannel> peer;  // nullptr: the own store
    std::unique_ptr<PeerStream> stream;
    LiveMerge::Stream merged;
    // The first message, until the subscriber's first one.
    std::optional<v1::SubscribeResponse> first;
    bool has_answered = false;  // since the stream began
    // Whether the stream has sent all that was stored when it began.
    bool has_sent_history = false;
    // The time after which values may be missing, for the next stream.
    // std::nullopt: the start of the request.
    std::optional<absl::Time> missing_since;
    std::string store_id;  // since it has answered
    v1::LiveMachines machines;
    absl::Duration answered_at;  // Clock::Monotonic() of the first message
    // The time of the last message by the own clock.
    absl::Time heard_at = absl::InfiniteFuture();
    absl::Status problem;  // why the peer is unreachable
    Backoff backoff;
    absl::Duration next_attempt;  // Clock::Monotonic()
  };

  std::unique_ptr<Source> MakeSource(std::shared_ptr<PeerChannel> peer);
  void FollowList(const Peers::List& peers);
  void Connect(Source* source);
  // Returns the time after which the source may have values that did not
  // arrive; std::nullopt: the start of the request.
  std::optional<absl::Time> HeardUntil(const Source& source) const;
  // Takes messages. Returns whether there may be more.
  bool Receive(Source* source, absl::Duration now);
  bool Take(Source* source, v1::SubscribeResponse* message);
  // Returns the error that a source has ended with, if it has.
  std::optional<absl::Status> EndOf(const Source& source) const;
  void Use(const v1::SubscribeResponse& message, Source* source,
           absl::Duration now);
  // Whether another source has the same store.
  bool IsDuplicate(const Source& source) const;
  void Disconnect(Source* source, absl::Duration next_attempt);
  void Fail(Source* source, const absl::Status& problem, absl::Duration now);
  bool IsReadyToBegin(absl::Duration now);
  void Begin(absl::Duration now);
  void ReportMachines();
  void ReportUnreachable();

  const Options options_;
  LiveMerge merge_;
  // The own one is the first.
  std::vector<std::unique_ptr<Source>> sources_;
  // Until when the first message waits for peers; std::nullopt: no call yet.
  std::optional<absl::Duration> begin_until_;
  std::optional<absl::Time> begun_at_;  // std::nullopt: not yet
  std::set<std::string> reported_;      // addresses of unreachable peers
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_PEERS_FLEET_WATCH_H_
