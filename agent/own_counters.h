// The counterset "fleetperf Agent", with which the agent monitors itself.

#ifndef FLEETPERF_AGENT_OWN_COUNTERS_H_
#define FLEETPERF_AGENT_OWN_COUNTERS_H_

#include <cstdint>
#include <functional>

#include "agent/collect/collection.h"
#include "agent/deliver/delivery.h"
#include "agent/deliver/uplink.h"
#include "base/own_counterset.h"

namespace fleetperf::agent {

// The counted parts. All of them must outlive the counterset.
struct OwnParts {
  const Delivery* delivery = nullptr;
  const UplinkCounts* uplink = nullptr;
  const CollectionCounts* collections = nullptr;
  // Thread-safe (SecondsLeft in base/tls/certificate_renewal.h).
  std::function<uint64_t()> certificate_seconds_left;
};
OwnCounterset MakeOwnCounters(const OwnParts& parts);

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_OWN_COUNTERS_H_
