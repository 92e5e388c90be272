// Explains failed RPCs to users.

#ifndef FLEETPERF_BASE_RPC_RPC_ERROR_H_
#define FLEETPERF_BASE_RPC_RPC_ERROR_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace grpc {
class Status;
}  // namespace grpc

namespace fleetperf {

// The progress of a call when it failed.
enum class RpcStage {
  kConnecting,  // no answer received so far
  kAnswering,   // an answer was received
};

// Returns the code and message of `status`. If the aggregator at `address` is
// unreachable, the TLS handshake failed or the connection was lost, the message
// says so and suggests the fix.
absl::Status StatusFromRpc(const grpc::Status& status,
                           absl::string_view address,
                           RpcStage stage = RpcStage::kConnecting);

// Whether the call failed because of a certificate or a missing right, which
// trying again does not change. A connection that the aggregator closes at once
// counts, too, although a restart is a possible cause.
bool IsRefusal(const grpc::Status& status, RpcStage stage);

// Returns the code and message of `status`, which is cut to kMaxErrorText bytes
// (base/text/excerpt.h).
grpc::Status RpcFromStatus(const absl::Status& status);

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_RPC_RPC_ERROR_H_
