// The time range of a read, and what is reported of damage in it.

#ifndef FLEETPERF_AGGREGATOR_STORE_READ_RANGE_H_
#define FLEETPERF_AGGREGATOR_STORE_READ_RANGE_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "aggregator/samples/frame.h"
#include "aggregator/store/codec/chunk.h"
#include "perflib/clocks.h"

namespace fleetperf::aggregator {

// Returns the first to the last tick between `from` and `to`. std::nullopt if
// there is none.
std::optional<Chunk::TickRange> TicksBetween(
    const std::vector<perflib::Clocks>& clocks, absl::Time from, absl::Time to);

// Removes runs outside of the range, as reading chunks does, because instances
// are numbered by those that occur. Returns false if no tick is in the range.
bool RemoveRunsOutside(absl::Time from, absl::Time to, Frame* frame);

// Returns the loss that reads report in place of samples that are damaged.
Loss DamagedBetween(absl::Time start, absl::Time end);

// Logs that samples of the machine are skipped because of `damage`.
void LogSkipped(const std::string& machine, const absl::Status& damage);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_READ_RANGE_H_
