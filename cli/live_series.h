// Joins the streams of a subscription: those of several aggregators, and those
// that are resumed after their connection was lost.

#ifndef FLEETPERF_CLI_LIVE_SERIES_H_
#define FLEETPERF_CLI_LIVE_SERIES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "fleetperf/v1/subscription.pb.h"

namespace fleetperf::cli {

// Gives series the same ids in all streams, and removes values that an earlier
// stream had. A series belongs to the aggregator that sent its newest value;
// another one takes it over with a newer value, because its agent has moved.
//
// Of ranked subscriptions, each stream has the first few series of each counter
// at its aggregator. Passes on the first few of all. A series that is no longer
// among these ends, and returns with the next value with which it is.
// Thread-compatible.
class LiveSeries {
 public:
  // Of each counter, passes on the `top` series with the largest newest values,
  // or the `bottom` ones with the smallest. Both 0: all series.
  explicit LiveSeries(uint32_t top = 0, uint32_t bottom = 0)
      : top_(top), bottom_(bottom) {}

  // Must be called before the first response of each stream. `aggregator` is
  // its number.
  void BeginStream(size_t aggregator);

  // Translates a response of the aggregator's current stream. Removes series
  // that are known, and ends that are not those of the series' aggregator.
  void Translate(size_t aggregator, v1::SubscribeResponse* response);

  // Returns the time after which the next stream should start. It leaves time
  // for machines that send later than others. std::nullopt: no values so far.
  std::optional<absl::Time> NextStart() const;

 private:
  struct Series {
    v1::Series described;  // with the common id
    std::optional<size_t> aggregator;
    std::set<size_t> streams;  // the aggregators whose streams have it
    bool is_open = false;      // described to the reader, and not ended
    absl::Time newest = absl::InfinitePast();
    // Values of the aggregator up to this time are removed: `newest` when its
    // current stream began, or when it took the series over.
    absl::Time known_to = absl::InfinitePast();
    std::optional<double> rank;  // the smaller, the better; of its newest value
  };

  // Translates a part with at most one sample of each series.
  void TranslatePart(size_t aggregator, v1::SubscribeResponse* part);
  // Returns the series that a stream describes.
  Series& Describe(size_t aggregator, const v1::Series& series);
  // Notes a sample of the aggregator. Returns whether it is new.
  bool Note(size_t aggregator, absl::Time time, Series* series);
  // Returns the ids of the series that are among the first of their counter.
  std::set<uint32_t> First() const;

  const uint32_t top_;
  const uint32_t bottom_;
  // By SeriesKey and the number among the series of this key in one stream.
  std::map<std::pair<std::string, uint32_t>, Series> series_;
  // By aggregator and the id in its current stream.
  std::map<std::pair<size_t, uint32_t>, Series*> by_stream_id_;
  std::map<uint32_t, Series*> by_id_;
  absl::Time newest_ = absl::InfinitePast();
};

}  // namespace fleetperf::cli

#endif  // FLEETPERF_CLI_LIVE_SERIES_H_
