#ifndef FLEETPERF_BASE_RPC_LOG_H_
#define FLEETPERF_BASE_RPC_LOG_H_

namespace fleetperf {

// Logs gRPC's messages at level debug instead of printing them to standard
// error: of each line of gRPC's source, one message a second. Relevant errors
// are returned as statuses anyway.
void SendGrpcLogsToDebug();

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_RPC_LOG_H_
