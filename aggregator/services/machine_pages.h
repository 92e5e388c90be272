// Merges the lists of machines of several aggregators.

#ifndef FLEETPERF_AGGREGATOR_SERVICES_MACHINE_PAGES_H_
#define FLEETPERF_AGGREGATOR_SERVICES_MACHINE_PAGES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "fleetperf/v1/peer.pb.h"

namespace fleetperf::aggregator {

// Checks a peer's answer to a request with `page_token`: the names are ordered,
// after the token, and not after the next token, so that a list ends. Truncates
// texts as if an agent had sent them. Returns DataLoss if the page is
// malformed.
absl::Status CheckPage(const std::string& page_token,
                       v1::ListMachinesResponse* page);

// Merges pages that answer one request, which has `page_size`. Of pages of one
// store, the first one counts. A machine that several stores have is described
// as by the aggregator that its agent is connected to, or else by the one with
// its newest sample; the ticks that it lost add up.
v1::ListMachinesResponse MergePages(
    std::vector<v1::ListOwnMachinesResponse> pages, uint32_t page_size);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SERVICES_MACHINE_PAGES_H_
