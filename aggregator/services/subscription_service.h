// The gRPC service that streams values to subscribers.

#ifndef FLEETPERF_AGGREGATOR_SERVICES_SUBSCRIPTION_SERVICE_H_
#define FLEETPERF_AGGREGATOR_SERVICES_SUBSCRIPTION_SERVICE_H_

#include <memory>

#include "aggregator/rpc/stream_service.h"
#include "aggregator/services/subscriptions.h"

namespace fleetperf::aggregator {

// `subscriptions` must outlive the server that the service is registered with.
std::unique_ptr<StreamService> MakeSubscriptionService(
    Subscriptions* subscriptions);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SERVICES_SUBSCRIPTION_SERVICE_H_
