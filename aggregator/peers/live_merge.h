// Merges the live values of several aggregators for one subscriber.

#ifndef FLEETPERF_AGGREGATOR_PEERS_LIVE_MERGE_H_
#define FLEETPERF_AGGREGATOR_PEERS_LIVE_MERGE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "aggregator/subscribe/feed_update.h"
#include "fleetperf/v1/subscription.pb.h"

namespace fleetperf::aggregator {

// A series has the same id in the result whichever stream its values are from,
// because machines move between aggregators. It belongs to the stream that sent
// its newest value. All values of that stream are passed on; those of another
// stream if they are newer, which then has the series. A stream that is resumed
// keeps its series, which end with it. Thread-compatible.
class LiveMerge {
 private:
  struct Series {
    std::shared_ptr<const v1::Series> name;  // with the id in the result
    bool is_weighted = false;                // see SeriesValues
    absl::Duration interval;
    uint64_t source = 0;         // that has the series; 0: none yet
    uint64_t stream = 0;         // the source's one of the newest value
    uint32_t id = 0;             // the newest of the source's ids
    int64_t newest = INT64_MIN;  // the time of the last value passed on
    bool is_open = false;        // it has a value and has not ended
  };
  using SeriesPtr = std::shared_ptr<Series>;

 public:
  // The messages of one subscription at an aggregator.
  class Stream {
   public:
    // The time of its newest value. std::nullopt: it had none.
    std::optional<absl::Time> newest() const { return newest_; }

   private:
    friend class LiveMerge;
    Stream(uint64_t source, uint64_t number)
        : source_(source), number_(number) {}
    void NoteTime(absl::Time time) {
      if (!newest_.has_value() || *newest_ < time) newest_ = time;
    }

    uint64_t source_;  // the same after Resume
    uint64_t number_;
    absl::flat_hash_map<uint32_t, SeriesPtr> series_;  // by the stream's ids
    // The open series of the streams that this one replaces.
    absl::flat_hash_set<SeriesPtr> before_;
    std::optional<absl::Time> newest_;
  };

  Stream Begin() {
    ++last_stream_;
    return Stream(last_stream_, last_stream_);
  }
  // Begins a stream that replaces another one of the same aggregator.
  Stream Resume(const Stream& before);

  // Returns the new values and the ends in a message of a stream. Checks every
  // number. Returns DataLoss or ResourceExhausted if the message is malformed,
  // or of too many series; the stream must not be used again.
  absl::StatusOr<FeedUpdate> Add(const v1::SubscribeResponse& message,
                                 Stream* stream);

  // Must be called when a stream has sent what is stored. Returns the ends of
  // the series that the ones it replaces had, and that it does not have.
  FeedUpdate EndBefore(Stream* stream);

  // Returns the ends of the series that a stream has, or had before Resume.
  FeedUpdate End(const Stream& stream);

 private:
  absl::Status AddSeries(const v1::Series& series,
                         const v1::SeriesRanking* ranking, Stream* stream);
  absl::Status AddPoints(const v1::Points& points, Stream* stream,
                         FeedUpdate* update) const;
  absl::Status AddSamples(const v1::RawSamples& samples, Stream* stream,
                          FeedUpdate* update) const;
  // Notes that a stream, which has the series by `id`, has brought its newest
  // value, of this time.
  static void Note(uint32_t id, int64_t newest, absl::Time time, Series* series,
                   Stream* stream);
  static void EndSeries(uint64_t source, Series* series, FeedUpdate* update);
  void ForgetEnded();

  uint64_t last_stream_ = 0;
  uint32_t last_id_ = 0;
  std::map<std::string, SeriesPtr> series_;  // by machine and path
  size_t name_bytes_ = 0;
  size_t forget_above_ = 1000;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_PEERS_LIVE_MERGE_H_
