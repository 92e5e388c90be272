// Finds the queries whose values are those of now.

#ifndef FLEETPERF_AGGREGATOR_EXPORT_LAST_TICKS_H_
#define FLEETPERF_AGGREGATOR_EXPORT_LAST_TICKS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "aggregator/samples/directory.h"

namespace fleetperf::aggregator {

struct LastTick {
  std::shared_ptr<const QueryTicks> query;
  // If the process has seen no tick of the query: of the machine.
  absl::Time time;
};

// Returns the last ticks of a machine's queries in force, in no order: those
// that keep up with the query of their counterset whose tick arrived last. A
// query without a tick since the start of the process is in force as long as
// its first one may be to come.
std::vector<LastTick> FindLastTicks(const Directory& directory,
                                    const std::string& machine);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_EXPORT_LAST_TICKS_H_
