// The catalogue: all countersets that an agent can serve, for the aggregator.

#ifndef FLEETPERF_AGENT_DELIVER_CATALOGUE_H_
#define FLEETPERF_AGENT_DELIVER_CATALOGUE_H_

#include <string>
#include <vector>

#include "fleetperf/v1/collection.pb.h"
#include "perflib/registration.h"

namespace fleetperf::agent {

struct HashedCatalogue {
  v1::Catalogue catalogue;
  std::string hash;  // SHA-256 of its contents
};

// Machines with the same registrations have identical catalogues, byte for
// byte.
HashedCatalogue MakeCatalogue(
    std::vector<perflib::CountersetRegistration> registrations);

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_DELIVER_CATALOGUE_H_
