#ifndef FLEETPERF_BASE_RPC_LOG_H_
#define FLEETPERF_BASE_RPC_LOG_H_

namespace fleetperf {

// Logs the messages of gRPC and protobuf at level debug instead of printing
// them to standard error, where peers could cause any number of them: of each
// line of a library's source, one message a second. Relevant errors are
// returned as statuses anyway.
void SendRpcLogsToDebug();

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_RPC_LOG_H_
