// The counterset "fleetperf Agent", with which the agent monitors itself.

#ifndef FLEETPERF_AGENT_OWN_COUNTERS_H_
#define FLEETPERF_AGENT_OWN_COUNTERS_H_

#include <cstdint>
#include <functional>

#include "agent/deliver/delivery.h"
#include "agent/deliver/uplink.h"
#include "base/own_counterset.h"

namespace fleetperf::agent {

// `delivery` and `uplink` must outlive the counterset.
// `certificate_seconds_left` is thread-safe (SecondsLeft in
// base/certificate_renewal.h).
OwnCounterset MakeOwnCounters(
    const Delivery* delivery, const UplinkCounts* uplink,
    std::function<uint64_t()> certificate_seconds_left);

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_OWN_COUNTERS_H_
