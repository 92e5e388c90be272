// Makes thinned data: reduces all ticks of a minute or an hour to one.
//
// Invariants:
//
// - Groups are passed in the order of their samples. The thinner remembers the
//   last sample of each series, so that the first piece of a group begins with
//   the last sample of the group before it.
// - The retained tick is the last one of each multiple of the interval. A tick
//   exactly at a multiple belongs to the interval before it, as in windows.
// - The last tick of a group is retained, too, even if its interval continues
//   in the next group.
// - The summary at a retained tick covers all samples after the previous
//   retained tick, up to and including its own. So windows of whole intervals
//   keep their value, breaks, coverage, minimum and maximum.
// - Raw columns hold the last value of the interval. If growth is measured
//   between a column's values, the value must be from the retained tick itself;
//   otherwise it is missing.
// - Data that is already thinned is combined from its summaries, not from its
//   raw values.

#ifndef FLEETPERF_AGGREGATOR_STORE_COMPACTION_THINNER_H_
#define FLEETPERF_AGGREGATOR_STORE_COMPACTION_THINNER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "aggregator/samples/frame.h"
#include "aggregator/samples/series_run.h"
#include "aggregator/samples/walker.h"
#include "aggregator/store/compaction/transposer.h"
#include "values/counter_formula.h"
#include "values/formula.h"
#include "values/summary.h"

namespace fleetperf::aggregator {

// Thins the samples of one machine, in order. Thread-compatible.
class Thinner {
 public:
  // Retains one tick per multiple of `interval`. Like in a window, the tick at
  // the end of an interval belongs to it.
  explicit Thinner(absl::Duration interval) : interval_(interval) {}

  // Returns the thinned frames of `group`, one per frame. They share their
  // clocks. The last tick of each multiple is retained, even if the multiple
  // continues in the next group.
  FrameGroup Thin(const FrameGroup& group);

  // Remembers the last samples of chunks that are not thinned now, so that the
  // next pieces begin there.
  void Follow(const FrameGroup& group);

 private:
  // The columns of a query's series before and after thinning.
  struct Series {
    size_t number = 0;  // of its counter in counters_
    CounterFormula formula;
    SeriesColumns columns;
    SeriesColumns thinned_columns;
  };
  struct Query {
    bool thinned_before = false;
    std::shared_ptr<const CollectedQuery> thinned;
    std::vector<Series> series;
    // For each raw column (these come first): whether growth is measured
    // between its values. If so, its values must be from the retained tick
    // itself.
    std::vector<bool> is_measured;
  };
  // Runs of one life that together have samples of all retained ticks in a
  // range.
  struct Joined {
    std::vector<size_t> runs;
    uint32_t first = 0;  // index of a retained tick
    uint32_t last = 0;
  };

  const Query& QueryOf(const std::shared_ptr<const CollectedQuery>& query);
  Frame ThinFrame(const Frame& frame, const std::vector<uint32_t>& ends,
                  std::shared_ptr<const std::vector<perflib::Clocks>> clocks);
  // Returns the number of a counter in counters_.
  size_t NumberOf(const Schema& schema, uint32_t counter_id);
  WalkedSeries& WalkedOf(const Frame& frame, const Frame::Run& run,
                         const Series& series);
  std::shared_ptr<const Instance> WithBirth(const Frame& frame,
                                            const Frame::Run& run,
                                            const Query& query);
  static void PutRawValues(const Frame& frame, const Query& query,
                           const Joined& joined, size_t number,
                           const std::vector<uint32_t>& ends, Frame* thinned);
  // Returns the summaries of the series' samples, by retained tick.
  std::vector<Summary> Summarize(const Frame& frame, const Series& series,
                                 const Joined& joined,
                                 const std::vector<uint32_t>& ends);
  static void PutSummaries(const Series& series,
                           const std::vector<Summary>& summaries, size_t number,
                           Frame* thinned);

  const absl::Duration interval_;
  absl::flat_hash_map<std::shared_ptr<const CollectedQuery>, Query> queries_;
  // The collected counters of each schema.
  absl::flat_hash_map<const Schema*, std::vector<uint32_t>> counters_;
  WalkedInstances instances_;
  Walker walker_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_COMPACTION_THINNER_H_
