// The agent that plays a capture instead of collecting.

#ifndef FLEETPERF_AGENT_REPLAY_H_
#define FLEETPERF_AGENT_REPLAY_H_

#include "absl/status/status.h"
#include "agent/config.h"
#include "base/daemon/daemon.h"

namespace fleetperf::agent {

// Plays the capture in config.replay_directory as machine config.name. Returns
// OK when every block is stored. Returns an error when all blocks are settled
// but some are not stored, or at the stop signal.
absl::Status ReplayCapture(const Config& config, StopSignal& stop);

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_REPLAY_H_
