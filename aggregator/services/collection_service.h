// The gRPC service that agents stream to.

#ifndef FLEETPERF_AGGREGATOR_SERVICES_COLLECTION_SERVICE_H_
#define FLEETPERF_AGGREGATOR_SERVICES_COLLECTION_SERVICE_H_

#include <memory>

#include "aggregator/rpc/stream_service.h"

namespace fleetperf::aggregator {

class Ingest;

// `ingest` must outlive the server that the service is registered with.
std::unique_ptr<StreamService> MakeCollectionService(Ingest* ingest);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SERVICES_COLLECTION_SERVICE_H_
