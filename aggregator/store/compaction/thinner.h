// Makes thinned data: of all ticks of a minute, or an hour, one.

#ifndef FLEETPERF_AGGREGATOR_STORE_COMPACTION_THINNER_H_
#define FLEETPERF_AGGREGATOR_STORE_COMPACTION_THINNER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "aggregator/formula/counter_formula.h"
#include "aggregator/formula/formula.h"
#include "aggregator/formula/summary.h"
#include "aggregator/samples/frame.h"
#include "aggregator/samples/series_run.h"
#include "aggregator/store/compaction/transposer.h"

namespace fleetperf::aggregator {

// Takes the samples of one machine, in their order. Thread-compatible.
class Thinner {
 public:
  // One tick is left of each multiple of `interval`, which ends the time that
  // its samples are in, as a window does.
  explicit Thinner(absl::Duration interval) : interval_(interval) {}

  // What is left of `group`: as many frames, with the last ticks of each
  // multiple, also if that goes on in the next group. Their clocks are shared.
  FrameGroup Thin(const FrameGroup& group);

  // Notes the last samples of what is thinned already, so that pieces begin
  // there.
  void Follow(const FrameGroup& group);

 private:
  // A query's series, and what is left of it.
  struct Series {
    CounterFormula formula;
    SeriesColumns columns;
    SeriesColumns thinned_columns;
  };
  struct Query {
    std::shared_ptr<const CollectedQuery> thinned;
    std::vector<Series> series;
    // Of each raw column, which come first, whether growth is measured between
    // its values: then they must be of the very tick.
    std::vector<bool> is_measured;
  };
  // Runs of one life between which all ticks that are left have samples.
  struct Joined {
    std::vector<size_t> runs;
    uint32_t first = 0;  // of the ticks that are left
    uint32_t last = 0;
  };
  using SeriesKey = std::pair<uint64_t, uint32_t>;  // life, counter

  const Query& QueryOf(const std::shared_ptr<const CollectedQuery>& query);
  Frame ThinFrame(const Frame& frame, const std::vector<uint32_t>& ends,
                  std::shared_ptr<const std::vector<perflib::Clocks>> clocks);
  static void PutRawValues(const Frame& frame, const Query& query,
                           const Joined& joined, size_t number,
                           const std::vector<uint32_t>& ends, Frame* thinned);
  // What the series' samples come to, by tick that is left.
  std::vector<Summary> Summarize(const Frame& frame, const Series& series,
                                 const Joined& joined,
                                 const std::vector<uint32_t>& ends);
  static void PutSummaries(const Series& series,
                           const std::vector<Summary>& summaries, size_t number,
                           Frame* thinned);

  const absl::Duration interval_;
  absl::flat_hash_map<std::shared_ptr<const CollectedQuery>, Query> queries_;
  absl::flat_hash_map<SeriesKey, RawSample> last_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_COMPACTION_THINNER_H_
