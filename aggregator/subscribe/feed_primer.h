// Reads the newest stored samples of a machine into its new feeds. The first
// live values of rates need these samples.

#ifndef FLEETPERF_AGGREGATOR_SUBSCRIBE_FEED_PRIMER_H_
#define FLEETPERF_AGGREGATOR_SUBSCRIBE_FEED_PRIMER_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "aggregator/subscribe/hub_context.h"
#include "aggregator/subscribe/shared_feed.h"

namespace fleetperf::aggregator {

// Used by one thread at a time, as a task of HubContext::joining.
class FeedPrimer : public HubTask {
 public:
  using Feeds = std::vector<std::shared_ptr<SharedFeed>>;

  // Calls `on_primed` when all feeds are primed. `context` must outlive the
  // primer.
  FeedPrimer(std::string machine, Feeds feeds, HubContext* context,
             std::function<void(Feeds)> on_primed)
      : machine_(std::move(machine)),
        feeds_(std::move(feeds)),
        context_(*context),
        on_primed_(std::move(on_primed)) {}

  bool Work() override;

 private:
  // Returns the batches read; none after an error.
  SeenBatches Read();

  const std::string machine_;
  Feeds feeds_;
  HubContext& context_;
  const std::function<void(Feeds)> on_primed_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SUBSCRIBE_FEED_PRIMER_H_
