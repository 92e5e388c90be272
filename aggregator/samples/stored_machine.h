// A machine as a store keeps it.

#ifndef FLEETPERF_AGGREGATOR_SAMPLES_STORED_MACHINE_H_
#define FLEETPERF_AGGREGATOR_SAMPLES_STORED_MACHINE_H_

#include <string>

#include "fleetperf/v1/fleet.pb.h"

namespace fleetperf::aggregator {

struct StoredMachine {
  v1::Machine machine;
  std::string catalogue_hash = {};
  // PeerIdentity::Key of the agent's certificate, 32 bytes. Users do not see
  // it. "" if it is unknown.
  std::string certificate = {};
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SAMPLES_STORED_MACHINE_H_
