// The agent: a source, a collection, a delivery and an uplink.

#ifndef FLEETPERF_AGENT_AGENT_H_
#define FLEETPERF_AGENT_AGENT_H_

#include <memory>

#include "absl/status/statusor.h"
#include "agent/config.h"

namespace fleetperf::agent {

// Collects and sends samples from Start() until destruction.
class Agent {
 public:
  static absl::StatusOr<std::unique_ptr<Agent>> Start(const Config& config);
  virtual ~Agent() = default;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_AGENT_H_
