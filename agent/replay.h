// The agent that plays a capture instead of collecting.

#ifndef FLEETPERF_AGENT_REPLAY_H_
#define FLEETPERF_AGENT_REPLAY_H_

#include "absl/status/status.h"
#include "agent/config.h"
#include "base/daemon.h"

namespace fleetperf::agent {

// Plays the capture in config.replay_directory as config.name. Returns when all
// of it is stored, or, with an error, when all of it is settled but something
// is not stored, or at the stop signal.
absl::Status ReplayCapture(const Config& config, StopSignal& stop);

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_REPLAY_H_
