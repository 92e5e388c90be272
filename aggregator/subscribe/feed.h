// The selected series of one counterset of one machine. A feed evaluates them
// once for all subscriptions with the same selection.

#ifndef FLEETPERF_AGGREGATOR_SUBSCRIBE_FEED_H_
#define FLEETPERF_AGGREGATOR_SUBSCRIBE_FEED_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "aggregator/query/resolver.h"
#include "aggregator/query/sample_feed.h"
#include "aggregator/samples/walker.h"
#include "aggregator/subscribe/feed_update.h"
#include "aggregator/subscribe/series_names.h"
#include "aggregator/subscribe/stream_evaluator.h"

namespace fleetperf::aggregator {

// The form of the values of a feed.
struct FeedForm {
  // The minimum time between two values of a series.
  absl::Duration interval;
  bool raw = false;

  bool operator==(const FeedForm&) const = default;
};

// Thread-compatible.
class Feed : private SampleSink {
 public:
  // `names` must outlive the feed.
  Feed(const SelectedCounterset& selected, const FeedForm& form,
       SeriesNames* names);

  // Evaluates the samples of a frame of the machine. Must be called once for
  // each frame, in the order of epochs and batches.
  void Add(const Frame& frame);

  // Returns the values of the frames since the last call, without a position.
  FeedUpdate TakeUpdate();

  // Returns the newest value of each series that has one and has not ended.
  FeedUpdate Newest() const;

  // Returns the end of each series that has not ended.
  FeedUpdate Ends() const;

 private:
  struct Series {
    Instance instance;
    uint32_t counter_id = 0;
    std::vector<uint32_t> wanted_indexes;
    StreamEvaluator evaluator;
    WalkedSeries walked;
    absl::Duration sampling_interval;
    size_t query = 0;  // of the newest sample (Walker::query)
    // The point of the newest sample that yielded a value.
    std::optional<Point> newest_point;
    std::optional<RawSample> newest_sample;
    bool is_over = false;  // the instance was absent from the newest tick
    // The number of the instance among those with its name. std::nullopt before
    // the first value and after the end.
    std::optional<uint32_t> index;
    std::shared_ptr<const v1::Series> name;  // nullptr while `index` is unset
  };
  // The indexes used by the living series of one counter and name: all below
  // `end` that are not free.
  struct Indexes {
    std::set<uint32_t> free;
    uint32_t end = 0;
  };

  size_t AddSeries(const Instance& instance, const CounterFormula& formula,
                   std::vector<uint32_t> wanted_indexes) override;
  void AddRun(size_t number, const SeriesRun& run) override;

  void AddTimes(const Frame& frame);
  // Returns the time of the tick intervals that count for a series.
  int64_t TimeOf(const Series& series, absl::Time end_of_window) const;

  // Names the series if it has no name. Returns false if the series is not
  // selected.
  bool Name(Series& series);
  Indexes& IndexesOf(const Series& series);
  uint32_t TakeIndex(const Series& series);
  void GiveIndexBack(Series& series);
  void EndAbsent(const Frame& frame);
  void Forget();

  bool IsUnnamedAggregate(const Series& series) const;
  absl::Duration IntervalOf(const Series& series) const {
    return std::max(form_.interval, series.sampling_interval);
  }

  const SelectedCounterset selected_;
  const FeedForm form_;
  SeriesNames& names_;
  SampleFeed samples_;
  Walker walker_;
  // The nanoseconds of the tick intervals in the newest windows, by query and
  // by end of the window.
  std::vector<std::map<absl::Time, int64_t>> times_;
  std::vector<Series> series_;
  std::vector<size_t> free_;  // unused entries of series_
  // By counter and name.
  std::map<std::pair<uint32_t, std::string>, Indexes> indexes_;
  size_t forget_above_;
  FeedUpdate update_;
  size_t values_of_update_ = 0;  // the last one with values
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SUBSCRIBE_FEED_H_
