// The gRPC service that answers range queries.

#ifndef FLEETPERF_AGGREGATOR_SERVICES_QUERY_SERVICE_H_
#define FLEETPERF_AGGREGATOR_SERVICES_QUERY_SERVICE_H_

#include <memory>

#include "aggregator/query/fleet.h"
#include "aggregator/query/range_query.h"
#include "aggregator/services/work_slots.h"
#include "aggregator/store/store.h"

namespace grpc {
class Service;
}  // namespace grpc

namespace fleetperf::aggregator {

// Each call takes one of `slots`. The pointers must outlive the server that the
// service is registered with.
std::unique_ptr<grpc::Service> MakeQueryService(Store* store, Fleet* fleet,
                                                MachineNow now_of,
                                                WorkSlots* slots);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SERVICES_QUERY_SERVICE_H_
