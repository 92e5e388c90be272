// Deadlines of calls, by the clock that never steps. Those that gRPC makes of
// times of day come later by as much as that is set back.

#ifndef FLEETPERF_BASE_RPC_DEADLINE_H_
#define FLEETPERF_BASE_RPC_DEADLINE_H_

#include "absl/time/time.h"

struct gpr_timespec;

namespace fleetperf {

// For ClientContext::set_deadline, Server::Shutdown and the like.
gpr_timespec RpcDeadline(absl::Duration timeout);

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_RPC_DEADLINE_H_
