// The gRPC service that answers the other aggregators of the fleet.

#ifndef FLEETPERF_AGGREGATOR_SERVICES_PEER_SERVICE_H_
#define FLEETPERF_AGGREGATOR_SERVICES_PEER_SERVICE_H_

#include <memory>

#include "aggregator/peers/peers.h"
#include "aggregator/query/query_context.h"
#include "aggregator/services/own_machines.h"
#include "aggregator/store/store.h"

namespace grpc {
class Service;
}  // namespace grpc

namespace fleetperf::aggregator {

// Answers from `store` only, whose samples `samples` has, wherever they are,
// and refuses all calls while `peers` is empty. The pointers must outlive the
// server that the service is registered with. Calls take no slots of queries,
// which may wait for peers: two aggregators that ask each other would wait
// forever.
std::unique_ptr<grpc::Service> MakePeerService(Store* store,
                                               ReadableStore* samples,
                                               const OwnMachines* own,
                                               MachineNow now_of,
                                               const Peers* peers);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SERVICES_PEER_SERVICE_H_
