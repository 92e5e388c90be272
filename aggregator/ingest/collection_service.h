// The gRPC service that agents stream to.

#ifndef FLEETPERF_AGGREGATOR_INGEST_COLLECTION_SERVICE_H_
#define FLEETPERF_AGGREGATOR_INGEST_COLLECTION_SERVICE_H_

#include <memory>

namespace grpc {
class Service;
}  // namespace grpc

namespace fleetperf::aggregator {

class Ingest;

// `ingest` outlives the server that the service is registered with.
std::unique_ptr<grpc::Service> MakeCollectionService(Ingest* ingest);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_INGEST_COLLECTION_SERVICE_H_
