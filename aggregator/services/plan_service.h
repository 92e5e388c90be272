// The gRPC service that makes agents collect more counters for a limited time.

#ifndef FLEETPERF_AGGREGATOR_SERVICES_PLAN_SERVICE_H_
#define FLEETPERF_AGGREGATOR_SERVICES_PLAN_SERVICE_H_

#include <memory>

#include "aggregator/ingest/ingest.h"
#include "aggregator/plan/planner.h"
#include "aggregator/query/fleet.h"
#include "aggregator/store/store.h"

namespace grpc {
class Service;
}  // namespace grpc

namespace fleetperf::aggregator {

// The arguments must outlive the server that the service is registered with.
std::unique_ptr<grpc::Service> MakePlanService(Store* store, Fleet* fleet,
                                               Ingest* ingest,
                                               Planner* planner);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SERVICES_PLAN_SERVICE_H_
