// Deadlines of calls, on the monotonic clock. gRPC deadlines made from wall
// clock times expire late if the wall clock is set back.

#ifndef FLEETPERF_BASE_RPC_RPC_DEADLINE_H_
#define FLEETPERF_BASE_RPC_RPC_DEADLINE_H_

#include "absl/time/time.h"

struct gpr_timespec;

namespace fleetperf {

// Returns a deadline for ClientContext::set_deadline, Server::Shutdown and
// others.
gpr_timespec RpcDeadline(absl::Duration timeout);

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_RPC_RPC_DEADLINE_H_
