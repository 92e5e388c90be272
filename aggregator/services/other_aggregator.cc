#include "aggregator/services/other_aggregator.h"

#include "fleetperf/v1/administration.pb.h"

namespace fleetperf::aggregator {

void SetOthers(const std::vector<OtherAggregator>& others,
               v1::GetStatusResponse* response) {
  response->clear_others();
  for (const OtherAggregator& other : others) {
    v1::OtherAggregator* added = response->add_others();
    added->set_aggregator(other.address);
    added->set_page(other.page);
  }
}

}  // namespace fleetperf::aggregator
