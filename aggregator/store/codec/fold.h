// What the ticks of a chunk add up to. A window that covers a chunk, or nearly,
// needs only its first tick and the sum of the others, so neither its clocks
// nor its samples are decoded.
//
// Only sound data can be folded: the clocks have no break, and the values of
// counters that grow never decrease. Folds of clocks are kept for every chunk,
// those of runs if they are much smaller than the run. docs/reference/store.md
// has the layout.

#ifndef FLEETPERF_AGGREGATOR_STORE_CODEC_FOLD_H_
#define FLEETPERF_AGGREGATOR_STORE_CODEC_FOLD_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "aggregator/samples/frame.h"
#include "perflib/clocks.h"

namespace fleetperf::aggregator {

// The clocks of two or more ticks without a break, in units of 100 ns.
struct ClocksFold {
  int64_t second = 0;   // PerfTime100NSec of the second tick, after the first
  int64_t last = 0;     // the same of the last tick
  int64_t length = 0;   // of the monotonic clock, from the first to the last
  int64_t longest = 0;  // the longest such time between two neighbors

  // Returns whether no two neighbors have a gap between them at this interval.
  bool IsSoundAt(absl::Duration interval) const;
};

// Returns std::nullopt if the clocks have a break, or do not tick in 100 ns:
// only then are their lengths added up without rounding.
std::optional<ClocksFold> FoldClocks(absl::Span<const perflib::Clocks> clocks);

void PutClocksFold(const std::optional<ClocksFold>& fold, std::string* to);
bool GetClocksFold(absl::string_view* from, std::optional<ClocksFold>* fold);

// The kinds of folds of a column.
enum class FoldKind : uint8_t {
  kNone,
  kGrowth,  // of values that do not decrease
  kTotals,  // the sum and the extremes of a gauge
};
FoldKind FoldKindOf(const CollectedQuery& query, size_t column);

// A run's samples after the first one.
struct RunFold {
  uint64_t last = 0;
  FrameColumn::Total total;  // of gauges
};

// Returns std::nullopt if a value decreases, or if the sum of a gauge exceeds
// 64 bits. `values` has two or more.
std::optional<RunFold> FoldRun(FoldKind kind,
                               absl::Span<const uint64_t> values);
// The same for a run of `count` equal values.
std::optional<RunFold> FoldConstantRun(FoldKind kind, uint64_t value,
                                       uint64_t count);

// Whether a run whose rest takes `size` bytes has its fold in the chunk: if the
// fold takes a thirtieth of the run or less. The folds of smaller runs are
// calculated from the samples.
bool HasRunFold(FoldKind kind, uint64_t size);

// Writes and reads the folds of a column's runs. `firsts` are the values of
// their first ticks, and `count` is the number of ticks after each of these.
struct RunToFold {
  uint64_t first = 0;
  uint64_t count = 0;
};
void PutRunFolds(FoldKind kind, absl::Span<const RunToFold> runs,
                 absl::Span<const std::optional<RunFold>> folds,
                 std::string* to);
bool GetRunFolds(FoldKind kind, absl::Span<const RunToFold> runs,
                 absl::string_view* from,
                 std::vector<std::optional<RunFold>>* folds);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_CODEC_FOLD_H_
