#ifndef FLEETPERF_BASE_RPC_LOG_H_
#define FLEETPERF_BASE_RPC_LOG_H_

namespace fleetperf {

// gRPC's own messages go to the log at level debug, and not to standard error:
// what matters in them comes back as a status.
void SendGrpcLogsToDebug();

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_RPC_LOG_H_
