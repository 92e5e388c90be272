// Spreads agents over aggregators by rendezvous hashing: each agent has an
// order of preference of its own, and an aggregator that comes or goes moves
// only the agents that prefer it.

#ifndef FLEETPERF_AGENT_DELIVER_RENDEZVOUS_H_
#define FLEETPERF_AGENT_DELIVER_RENDEZVOUS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace fleetperf::agent {

// Returns the addresses in the agent's order of preference: by the SHA-256 of
// the agent's name, a newline and the address, both in lower case, the largest
// first. Neither the order of `addresses` nor the other addresses affect which
// one of two comes first.
std::vector<std::string> ByPreference(absl::string_view agent,
                                      std::vector<std::string> addresses);

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_DELIVER_RENDEZVOUS_H_
