// The time up to which all machines of a query can have samples.

#ifndef FLEETPERF_AGGREGATOR_QUERY_COMMON_NOW_H_
#define FLEETPERF_AGGREGATOR_QUERY_COMMON_NOW_H_

#include <optional>

#include "absl/time/time.h"
#include "aggregator/query/query_context.h"
#include "aggregator/query/resolver.h"

namespace fleetperf::aggregator {

// Returns the earliest time of a machine's clock. Ignores clocks far behind the
// median, which is the lower one of the two middle clocks. Returns std::nullopt
// if no machine is selected.
std::optional<absl::Time> CommonNow(const Selected& selected,
                                    const MachineNow& now_of);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_QUERY_COMMON_NOW_H_
