// An update about new samples, shared by all subscribers of a feed.

#ifndef FLEETPERF_AGGREGATOR_SUBSCRIBE_FEED_UPDATE_H_
#define FLEETPERF_AGGREGATOR_SUBSCRIBE_FEED_UPDATE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "aggregator/subscribe/sample_position.h"
#include "fleetperf/v1/values.pb.h"

namespace fleetperf::aggregator {

// New values of one series, calculated or raw, with the series' id.
struct SeriesValues {
  std::shared_ptr<const v1::Series> series;
  v1::Points points;
  v1::RawSamples raw;
  // Whether the instance is an aggregate of all others that no path names.
  bool is_unnamed_aggregate = false;
  bool is_weighted = false;  // see IsWeighted
  absl::Duration interval;   // of the values

  size_t count() const {
    return static_cast<size_t>(points.values_size() + raw.samples_size());
  }
};

// New values of the series of one counterset of one machine.
struct FeedUpdate {
  SamplePosition position;  // the batch's
  std::vector<SeriesValues> values;
  std::vector<uint32_t> ended;  // ids of series that end after these values
  uint64_t lagged = 0;          // values dropped before these
  // If not nullptr, the values in the wire format of SubscribeResponse, encoded
  // once for many subscribers.
  std::shared_ptr<const std::string> encoded_values;

  bool empty() const { return values.empty() && ended.empty() && lagged == 0; }
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SUBSCRIBE_FEED_UPDATE_H_
