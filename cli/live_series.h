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
// Thread-compatible.
class LiveSeries {
 public:
  // Must be called before the first response of each stream. `aggregator` is
  // its number.
  void BeginStream(size_t aggregator);

  // Translates a response of the aggregator's current stream. Removes new
  // series and ends that are not those of the series' aggregator.
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
    // Older values of the aggregator are removed: `newest` when its current
    // stream began, or when it took the series over.
    absl::Time known_to = absl::InfinitePast();
  };

  // Returns the time up to which the aggregator's values of the series are
  // removed.
  static absl::Time KnownTo(const Series& series, size_t aggregator);
  void RemoveOld(size_t aggregator, v1::Points* points);
  void RemoveOld(size_t aggregator, v1::RawSamples* samples);
  // Notes that the aggregator sent values, up to `newest`.
  void Note(size_t aggregator, absl::Time newest, Series* series);
  Series& Find(size_t aggregator, uint32_t id) {
    return *by_stream_id_[{aggregator, id}];
  }
  // Returns the series that a stream describes.
  Series& Describe(size_t aggregator, const v1::Series& series);

  // By SeriesKey and the number among the series of this key in one stream.
  std::map<std::pair<std::string, uint32_t>, Series> series_;
  // By aggregator and the id in its current stream.
  std::map<std::pair<size_t, uint32_t>, Series*> by_stream_id_;
  absl::Time newest_ = absl::InfinitePast();
};

}  // namespace fleetperf::cli

#endif  // FLEETPERF_CLI_LIVE_SERIES_H_
