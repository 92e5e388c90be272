// The gRPC service that answers range queries.

#ifndef FLEETPERF_AGGREGATOR_SERVICES_QUERY_SERVICE_H_
#define FLEETPERF_AGGREGATOR_SERVICES_QUERY_SERVICE_H_

#include <memory>

#include "aggregator/services/query_answers.h"

namespace grpc {
class Service;
}  // namespace grpc

namespace fleetperf::aggregator {

// The objects that `answers` refers to must outlive the server that the service
// is registered with.
std::unique_ptr<grpc::Service> MakeQueryService(const QueryAnswers& answers);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SERVICES_QUERY_SERVICE_H_
