// The counterset "fleetperf Agent", with which the agent monitors itself.

#ifndef FLEETPERF_AGENT_OWN_COUNTERS_H_
#define FLEETPERF_AGENT_OWN_COUNTERS_H_

#include "agent/deliver/delivery.h"
#include "agent/deliver/uplink.h"
#include "base/own_counterset.h"

namespace fleetperf::agent {

// `delivery` and `uplink` must outlive the counterset.
OwnCounterset MakeOwnCounters(const Delivery* delivery,
                              const UplinkCounts* uplink);

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_OWN_COUNTERS_H_
