// The gRPC service by which operators look after an aggregator.

#ifndef FLEETPERF_AGGREGATOR_ADMINISTRATION_SERVICE_H_
#define FLEETPERF_AGGREGATOR_ADMINISTRATION_SERVICE_H_

#include <memory>

#include "aggregator/store/store.h"

namespace grpc {
class Service;
}  // namespace grpc

namespace fleetperf::aggregator {

// `store` outlives the server that the service is registered with.
std::unique_ptr<grpc::Service> MakeAdministrationService(Store* store);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_ADMINISTRATION_SERVICE_H_
