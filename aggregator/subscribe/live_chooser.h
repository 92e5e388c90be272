// Selects the values for a subscriber by the values themselves.

#ifndef FLEETPERF_AGGREGATOR_SUBSCRIBE_LIVE_CHOOSER_H_
#define FLEETPERF_AGGREGATOR_SUBSCRIBE_LIVE_CHOOSER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/time/time.h"
#include "aggregator/query/choice.h"
#include "aggregator/subscribe/feed_update.h"
#include "base/os/clock.h"

namespace fleetperf::aggregator {

// Returns the points at the positions for which `wants` holds.
v1::Points PickPoints(const v1::Points& points,
                      absl::FunctionRef<bool(int)> wants);

// Applies a choice (`where`, top and bottom) to the newest value of each
// series. A series ends when its newest value is no longer chosen. Aggregates
// that no path names are never chosen. The series of each counter are ranked by
// themselves. Late series rank after all others, by value: those whose newest
// sample is older than 2.5 intervals and 30 s. Only updates of live values
// reveal late series, those of all machines. Thread-compatible.
class LiveChooser {
 public:
  // `clock` must outlive the chooser.
  LiveChooser(const Choice& choice, const Clock* clock)
      : choice_(choice), clock_(*clock) {}

  // Returns the chosen part of an update, with the newest values of series that
  // are chosen from now on. `is_history`: the update is of stored values before
  // the newest ones.
  std::shared_ptr<const FeedUpdate> Choose(
      std::shared_ptr<const FeedUpdate> update, bool is_history);

 private:
  // Ascending: whether the series is late, and its value, negative if the
  // largest are chosen.
  using Rank = std::pair<bool, double>;
  struct Ranked {
    SeriesValues newest;
    Rank rank;
    absl::Time late;  // from this time on, the series is late
  };
  // The series of a counter by rank.
  using Order = std::set<std::pair<Rank, uint32_t>>;

  FeedUpdate LeaveOut(const FeedUpdate& update);
  FeedUpdate KeepFirst(const FeedUpdate& update, bool is_history);
  // Ranks a series, among the late ones if it is late at `now`.
  void RankSeries(const SeriesValues& values, absl::Time now);
  // Does so for all series that are late at `now`, at most once a second.
  void RankLate(absl::Time now);
  void Unrank(uint32_t id);
  Order& OrderOf(const SeriesValues& values);

  const Choice choice_;
  const Clock& clock_;
  absl::Time checked_ = absl::InfinitePast();  // the time of the last RankLate
  absl::flat_hash_set<uint32_t> holding_;      // series for which `where` holds
  absl::flat_hash_map<uint32_t, Ranked> ranked_;
  std::map<CounterKey, Order, std::less<>> orders_;  // ranked_ by counter
  absl::flat_hash_set<uint32_t> first_;  // the chosen ones of ranked_
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SUBSCRIBE_LIVE_CHOOSER_H_
