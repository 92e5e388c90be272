// The series of one counterset of one machine, evaluated once for all
// subscriptions that select the same of it.

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
#include "aggregator/subscribe/feed_update.h"
#include "aggregator/subscribe/series_names.h"
#include "aggregator/subscribe/stream_evaluator.h"

namespace fleetperf::aggregator {

// In which form values are wanted.
struct FeedForm {
  // The least time between two values of a series.
  absl::Duration interval;
  bool raw = false;

  bool operator==(const FeedForm&) const = default;
};

// Thread-compatible.
class Feed : private SampleSink {
 public:
  // What is selected must be of one counterset. `names` outlives this.
  Feed(const SelectedCounterset& selected, const FeedForm& form,
       SeriesNames* names);

  // Evaluates the samples of a frame of the machine. Frames come in the order
  // of epochs and batches, each once.
  void Add(const Frame& frame);

  // What came of the frames since the last call; it has no position.
  FeedUpdate TakeUpdate();

  // The newest value of each series that has one and has not ended.
  FeedUpdate Newest() const;

 private:
  struct Series {
    Instance instance;
    uint32_t counter_id = 0;
    std::vector<uint32_t> wanted_indexes;
    StreamEvaluator evaluator;
    absl::Duration sampling_interval;
    // Of its newest sample that gave a value.
    std::optional<Point> newest_point;
    std::optional<RawSample> newest_sample;
    bool is_over = false;  // its instance was absent when it was last looked at
    // Which of the instances of its name it is; nothing before its first value
    // and after its end.
    std::optional<uint32_t> index;
    std::shared_ptr<const v1::Series> name;  // null: as long
  };
  // Which indexes living series of one counter and name have: all below `end`
  // that are not free.
  struct Indexes {
    std::set<uint32_t> free;
    uint32_t end = 0;
  };

  size_t AddSeries(const Instance& instance, const CounterFormula& formula,
                   std::vector<uint32_t> wanted_indexes) override;
  void AddRun(size_t number, const SeriesRun& run) override;

  // Gives the series its name if it has none. False if it is not wanted.
  bool Name(Series& series);
  Indexes& IndexesOf(const Series& series);
  uint32_t TakeIndex(const Series& series);
  void GiveIndexBack(Series& series);
  void EndAbsent(const Frame& frame);
  void Forget();

  bool IsUnnamedAggregate(const Series& series) const;

  const SelectedCounterset selected_;
  const FeedForm form_;
  SeriesNames& names_;
  SampleFeed samples_;
  std::vector<Series> series_;
  std::vector<size_t> free_;  // of those, what is forgotten
  // By counter and name.
  std::map<std::pair<uint32_t, std::string>, Indexes> indexes_;
  size_t forget_above_;
  FeedUpdate update_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SUBSCRIBE_FEED_H_
