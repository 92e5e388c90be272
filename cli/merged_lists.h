// Merges the lists of several aggregators, each in the order of the command's
// list of aggregators.

#ifndef FLEETPERF_CLI_MERGED_LISTS_H_
#define FLEETPERF_CLI_MERGED_LISTS_H_

#include <cstdint>
#include <vector>

#include "fleetperf/v1/fleet.pb.h"
#include "google/protobuf/repeated_ptr_field.h"

namespace fleetperf::cli {

// Returns the machines by name. A machine of several aggregators is described
// as by the one that its agent is connected to, or else by the one with its
// newest sample; the newest sample is that of all, its lost ticks add up, and
// one of them is enough to expect it.
// If two have an agent of its name connected from two hosts, it has the other
// one as conflicting_address.
google::protobuf::RepeatedPtrField<v1::Machine> MergeMachines(
    std::vector<v1::ListMachinesResponse> lists);

// Returns the countersets by name. Machines that collect add up. A machine that
// moved is in two lists, so the number of machines is the largest of the lists,
// or the sum of those that collect, if that is larger.
std::vector<v1::Counterset> MergeCountersets(
    const std::vector<v1::ListCountersetsResponse>& lists);

// Returns the counters of the first list, then those of the others that it does
// not have. One is collected if it is in one of the lists.
std::vector<v1::Counter> MergeCounters(
    const std::vector<v1::ListCountersResponse>& lists);

// Returns the instances by machine: of each, those of the aggregator that its
// agent has answered, or else the first list that has the machine.
v1::ListInstancesResponse MergeInstances(
    const std::vector<v1::ListInstancesResponse>& lists);

// Returns the first of each list, then the second of each, and so on, at most
// `limit`. Lists for corrected words count only if all words are corrected.
v1::FindResponse MergeFound(const std::vector<v1::FindResponse>& lists,
                            uint32_t limit);

}  // namespace fleetperf::cli

#endif  // FLEETPERF_CLI_MERGED_LISTS_H_
