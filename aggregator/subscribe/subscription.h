// A subscriber's request and its outbox.

#ifndef FLEETPERF_AGGREGATOR_SUBSCRIBE_SUBSCRIPTION_H_
#define FLEETPERF_AGGREGATOR_SUBSCRIBE_SUBSCRIPTION_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "aggregator/query/choice.h"
#include "aggregator/query/resolver.h"
#include "aggregator/subscribe/feed.h"
#include "aggregator/subscribe/outbox.h"
#include "base/os/clock.h"

namespace fleetperf::aggregator {

struct SubscriptionRequest {
  PathSet paths;
  FeedForm form;
  Choice choice;
  // Requests stored values after this time. std::nullopt: only the newest value
  // of each series.
  std::optional<absl::Time> start;
};

// Immutable, except for its outbox, which is thread-safe.
class Subscription {
 public:
  // `clock` must outlive the subscription.
  explicit Subscription(SubscriptionRequest request,
                        const Clock* clock = &Clock::Real())
      : request_(std::move(request)),
        outbox_(std::make_shared<Outbox>(request_.choice, clock)) {}

  const SubscriptionRequest& request() const { return request_; }
  const std::shared_ptr<Outbox>& outbox() const { return outbox_; }
  bool IsWatching(const std::string& machine) const {
    return request_.paths.MatchesMachine(machine);
  }
  // Same for a caller that has the machine's labels.
  bool IsWatching(const std::string& machine, const Labels& labels) const {
    return request_.paths.MatchesMachine(machine, labels);
  }

 private:
  const SubscriptionRequest request_;
  const std::shared_ptr<Outbox> outbox_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SUBSCRIBE_SUBSCRIPTION_H_
