// The data that calls read.

#ifndef FLEETPERF_AGGREGATOR_SERVICES_READ_SCOPE_H_
#define FLEETPERF_AGGREGATOR_SERVICES_READ_SCOPE_H_

#include "aggregator/query/fleet.h"
#include "aggregator/query/query_context.h"
#include "aggregator/store/readable_store.h"

namespace fleetperf::aggregator {

// All members are thread-safe. The references must outlive the object.
struct ReadScope {
  ReadableStore& store;  // with all samples that queries may read
  Fleet& fleet;
  MachineNow now_of;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SERVICES_READ_SCOPE_H_
