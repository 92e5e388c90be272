// The windows of a query, and which ticks are in them.

#ifndef FLEETPERF_AGGREGATOR_QUERY_WINDOW_GRID_H_
#define FLEETPERF_AGGREGATOR_QUERY_WINDOW_GRID_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "aggregator/samples/series_run.h"
#include "perflib/clocks.h"

namespace fleetperf::aggregator {

// The windows of a query: (start + (k-1) * step, start + k * step] for k
// from 1.
struct WindowGrid {
  absl::Time start;
  absl::Time end;
  // A multiple of 100 ns; 0: one window from start to end.
  absl::Duration step;

  absl::Duration length() const {
    return step == absl::ZeroDuration() ? end - start : step;
  }
  // How many whole windows there are.
  int64_t count() const;
  absl::Time EndOf(int64_t window) const { return start + window * length(); }
  // The number of the window that `time` is in, from 1; 0 if it is at or before
  // the start, more than count() if it is behind the end.
  int64_t WindowOf(absl::Time time) const;
};

// Consecutive ticks of a frame that are in the same window. Going by the clocks
// alone, nothing is wrong between two of them.
struct Stretch {
  uint32_t first = 0;
  uint32_t last = 0;
  int64_t window = 0;      // as WindowOf says
  bool is_before = false;  // the grid's start
  bool is_behind = false;  // its end
  // From the tick before the first, if nothing is wrong between them either.
  std::optional<int64_t> link;  // in nanoseconds
  int64_t longest = 0;          // between two of its ticks
};

// Divides the ticks of frames, once for all series. Thread-compatible.
class StretchTable {
 public:
  explicit StretchTable(const WindowGrid& grid);

  // Those of all ticks of the run's frame, in order.
  const std::vector<Stretch>& Of(const SeriesRun& run);

 private:
  using Clocks = std::shared_ptr<const std::vector<perflib::Clocks>>;

  Stretch Begin(int64_t time) const;
  int64_t EndOf(const Stretch& stretch) const;
  std::vector<Stretch> Divide(absl::Span<const perflib::Clocks> clocks,
                              absl::Duration interval) const;

  // Of the grid, in the units of PerfTime100NSec, which samples' times are
  // multiples of.
  const int64_t start_;
  const int64_t end_;
  const uint64_t length_;
  // By the frame's clocks, which are kept so that no others get their place,
  // and by interval.
  absl::flat_hash_map<std::pair<Clocks, absl::Duration>, std::vector<Stretch>>
      tables_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_QUERY_WINDOW_GRID_H_
