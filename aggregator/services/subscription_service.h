// The gRPC service that streams values to subscribers.

#ifndef FLEETPERF_AGGREGATOR_SERVICES_SUBSCRIPTION_SERVICE_H_
#define FLEETPERF_AGGREGATOR_SERVICES_SUBSCRIPTION_SERVICE_H_

#include <memory>

#include "aggregator/query/fleet.h"
#include "aggregator/rpc/stream_service.h"
#include "aggregator/store/store.h"
#include "aggregator/subscribe/hub.h"
#include "base/clock.h"

namespace fleetperf::aggregator {

// The arguments must outlive the server that the service is registered with.
std::unique_ptr<StreamService> MakeSubscriptionService(Store* store,
                                                       Fleet* fleet, Hub* hub,
                                                       const Clock* clock);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SERVICES_SUBSCRIPTION_SERVICE_H_
