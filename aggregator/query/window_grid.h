// The windows of a query, and their ticks.

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
#include "aggregator/samples/frame.h"
#include "aggregator/samples/stretch.h"
#include "perflib/clocks.h"

namespace fleetperf::aggregator {

// The windows (start + (k-1) * step, start + k * step] for k from 1.
struct WindowGrid {
  absl::Time start;
  absl::Time end;
  // A multiple of 100 ns; 0: one window from start to end.
  absl::Duration step;

  absl::Duration length() const {
    return step == absl::ZeroDuration() ? end - start : step;
  }
  // The number of whole windows.
  int64_t count() const;
  absl::Time EndOf(int64_t window) const { return start + window * length(); }
  // Returns the number of the window with `time`, from 1. Returns 0 if `time`
  // is at or before the start, and more than count() if it is after the end.
  int64_t WindowOf(absl::Time time) const;
};

// The ticks of a frame.
struct DividedTicks {
  std::vector<Stretch> stretches;  // in order
  // The nanoseconds since the tick before; 0 if their clocks have a break.
  std::vector<int64_t> lengths;
};

// Divides the ticks of frames into stretches, once for all series and queries.
// Thread-compatible.
class StretchTable {
 public:
  explicit StretchTable(const WindowGrid& grid);

  // The result is valid until the next call.
  const DividedTicks& Of(const Frame& frame);

  // Whether ticks in order from one time to another, like PerfTime100NSec, are
  // in the same window, or all before the grid's start.
  bool AreTogether(int64_t first, int64_t last) const;

 private:
  using Clocks = std::shared_ptr<const std::vector<perflib::Clocks>>;

  Stretch Begin(int64_t time) const;
  int64_t EndOf(const Stretch& stretch) const;
  DividedTicks Divide(absl::Span<const perflib::Clocks> clocks,
                      absl::Duration interval) const;
  DividedTicks DivideFolded(absl::Span<const perflib::Clocks> ends,
                            const Frame::Fold& fold) const;

  // The grid in units of 100 ns, like PerfTime100NSec.
  const int64_t start_;
  const int64_t end_;
  const uint64_t length_;
  // By the frame's clocks and by interval. The clocks are retained, so that no
  // others get their address.
  absl::flat_hash_map<std::pair<Clocks, absl::Duration>, DividedTicks> tables_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_QUERY_WINDOW_GRID_H_
