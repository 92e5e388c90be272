#ifndef FLEETPERF_BASE_RPC_RPC_LOG_H_
#define FLEETPERF_BASE_RPC_RPC_LOG_H_

namespace fleetperf {

// Logs the messages of gRPC and protobuf instead of printing them to standard
// error, where peers could cause any number of them. At level debug: of each
// line of a library's source, one message a second; relevant errors are
// returned as statuses anyway. At level warning: messages that cannot be sent,
// stored or read because a string is not UTF-8 or the message is too large,
// which protobuf reports nowhere else; the line names the message and its
// field, each at most once in five minutes.
void SendRpcLogs();

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_RPC_RPC_LOG_H_
