// Which values a subscriber wants, by the values themselves.

#ifndef FLEETPERF_AGGREGATOR_SUBSCRIBE_LIVE_CHOOSER_H_
#define FLEETPERF_AGGREGATOR_SUBSCRIBE_LIVE_CHOOSER_H_

#include <cstdint>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "aggregator/query/choice.h"
#include "aggregator/subscribe/feed_update.h"

namespace fleetperf::aggregator {

// The points at the places for which `wants` holds.
v1::Points PickPoints(const v1::Points& points,
                      absl::FunctionRef<bool(int)> wants);

// A series ends when its newest value is not wanted any more. Aggregates that
// no path names are not. Thread-compatible.
class LiveChooser {
 public:
  // As choices are of queries, but by the newest value of each series.
  explicit LiveChooser(const Choice& choice) : choice_(choice) {}

  // What of an update is wanted; series that are now wanted come with it.
  std::shared_ptr<const FeedUpdate> Choose(
      std::shared_ptr<const FeedUpdate> update);

 private:
  struct Ranked {
    SeriesValues newest;
    double rank = 0;  // the smallest is first
  };

  FeedUpdate LeaveOut(const FeedUpdate& update);
  FeedUpdate KeepFirst(const FeedUpdate& update);
  void Rank(const SeriesValues& values);
  void Unrank(uint32_t id);

  const Choice choice_;
  absl::flat_hash_set<uint32_t> holding_;  // series for which `where` holds
  absl::flat_hash_map<uint32_t, Ranked> ranked_;
  std::set<std::pair<double, uint32_t>> order_;  // of these, by rank
  absl::flat_hash_set<uint32_t> first_;          // of these
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SUBSCRIBE_LIVE_CHOOSER_H_
