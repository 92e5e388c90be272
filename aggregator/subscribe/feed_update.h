// What subscribers are told when samples have come: made once for all of them.

#ifndef FLEETPERF_AGGREGATOR_SUBSCRIBE_FEED_UPDATE_H_
#define FLEETPERF_AGGREGATOR_SUBSCRIBE_FEED_UPDATE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "aggregator/subscribe/sample_position.h"
#include "fleetperf/v1/values.pb.h"

namespace fleetperf::aggregator {

// New values of one series, whose id they have: calculated or raw ones.
struct SeriesValues {
  std::shared_ptr<const v1::Series> series;
  v1::Points points;
  v1::RawSamples raw;
  // Of an instance that stands for all others, and no path names it.
  bool is_unnamed_aggregate = false;

  size_t count() const {
    return static_cast<size_t>(points.values_size() + raw.samples_size());
  }
};

// Of the series of one counterset of one machine.
struct FeedUpdate {
  SamplePosition position;  // of the batch that it is made of
  std::vector<SeriesValues> values;
  std::vector<uint32_t> ended;  // ids of series, after their last values
  uint64_t lagged = 0;          // values that were left out before these
  // If not null, the values as a SubscribeResponse has them on the wire, for
  // many subscribers.
  std::shared_ptr<const std::string> encoded_values;

  bool empty() const { return values.empty() && ended.empty() && lagged == 0; }
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SUBSCRIBE_FEED_UPDATE_H_
