// The other aggregators of a fleet, as the configuration names them.

#ifndef FLEETPERF_AGGREGATOR_SERVICES_OTHER_AGGREGATOR_H_
#define FLEETPERF_AGGREGATOR_SERVICES_OTHER_AGGREGATOR_H_

#include <string>
#include <vector>

namespace fleetperf::v1 {
class GetStatusResponse;
}  // namespace fleetperf::v1

namespace fleetperf::aggregator {

struct OtherAggregator {
  std::string address;  // "host:port", for agents and the command line
  std::string page;     // "https://..."; "" if it has none
};

// Replaces the field `others` of a response.
void SetOthers(const std::vector<OtherAggregator>& others,
               v1::GetStatusResponse* response);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SERVICES_OTHER_AGGREGATOR_H_
