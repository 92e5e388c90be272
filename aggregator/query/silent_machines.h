// Looks for samples outside of the range of a query. Reports the machines whose
// samples are all before it, or outside of it because their clocks are wrong.

#ifndef FLEETPERF_AGGREGATOR_QUERY_SILENT_MACHINES_H_
#define FLEETPERF_AGGREGATOR_QUERY_SILENT_MACHINES_H_

#include <optional>
#include <set>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "aggregator/query/query_context.h"
#include "aggregator/query/resolver.h"
#include "aggregator/query/window_grid.h"
#include "aggregator/samples/frame.h"

namespace fleetperf::aggregator {

// A machine whose newest sample is older than this at the start of the range
// counts as decommissioned.
inline constexpr absl::Duration kMissedFor = absl::Hours(24 * 7);
// A clock that differs from the other machines' clocks by less is exact.
inline constexpr absl::Duration kSkewToReport = absl::Seconds(2);

// Returns the time up to which all machines of a query can have samples: the
// earliest time of a machine's clock. Ignores clocks far behind the median,
// which is the lower one of the two middle clocks. Returns std::nullopt if no
// machine is selected.
std::optional<absl::Time> CommonNow(const Selected& selected,
                                    const MachineNow& now_of);

// Returns the time of the frame's first tick in the range (its start is not in
// it), if any.
std::optional<absl::Time> FirstTickIn(const Frame& frame,
                                      const WindowGrid& range);
bool HasTickIn(const Frame& frame, const WindowGrid& range);

// Returns the time of the machine's first tick of the counterset after `time`;
// std::nullopt if there is none, or if reading fails.
std::optional<absl::Time> TickAfter(const QueryContext& context,
                                    const std::string& machine,
                                    const SelectedCounterset& selected,
                                    absl::Time time);

// Reports the selected machines, unless a path names the machine (without
// samples, such a path is missing):
// - whose newest sample is at or before the start of the range, by at most
//   kMissedFor;
// - that have no tick in the range, but have ticks in the range as their clocks
//   show it, which are ahead (CommonNow) by more than kSkewToReport. A machine
//   that appeared after the range has none;
// - whose newest samples arrive now, but are before the end of the range,
//   because the clock is before CommonNow by more than kSkewToReport.
// `with_ticks` has the machines with a tick in the range; `range_of` returns
// the range of a machine.
absl::Status ReportSilent(
    const QueryContext& context, const PathSet& paths, const Selected& selected,
    const std::set<std::string>& with_ticks,
    absl::FunctionRef<absl::StatusOr<WindowGrid>(const std::string&)> range_of);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_QUERY_SILENT_MACHINES_H_
