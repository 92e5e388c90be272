// Messages for failed RPCs that say what to do.

#ifndef FLEETPERF_BASE_RPC_ERROR_H_
#define FLEETPERF_BASE_RPC_ERROR_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace grpc {
class Status;
}  // namespace grpc

namespace fleetperf {

// How far a call had come when it failed.
enum class RpcStage {
  kConnecting,  // nothing was heard of the other side, as far as is known
  kAnswering,   // it had answered
};

// The code and message of `status`. Where the aggregator at `address` could not
// be reached, the TLS handshake failed or the connection was lost, the message
// says so in terms of fleetperf and what to look at.
absl::Status StatusFromRpc(const grpc::Status& status,
                           absl::string_view address,
                           RpcStage stage = RpcStage::kConnecting);

grpc::Status RpcFromStatus(const absl::Status& status);

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_RPC_ERROR_H_
