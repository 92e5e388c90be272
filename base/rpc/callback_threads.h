// Keeps gRPC's threads for callbacks.
//
// gRPC starts its threads with the first call of the callback interface, and
// ends them with the last channel that made such a call. It ignores threads and
// descriptors that the system refuses: later calls then wait forever, or the
// process aborts. So a process whose channels come and go must keep the threads
// that it got at its start.

#ifndef FLEETPERF_BASE_RPC_CALLBACK_THREADS_H_
#define FLEETPERF_BASE_RPC_CALLBACK_THREADS_H_

#include <memory>

#include "absl/status/statusor.h"

namespace grpc {
class Channel;
}  // namespace grpc

namespace fleetperf {

// While it exists, calls of the callback interface need no new thread.
class CallbackThreads {
 public:
  // Starts the threads. Returns Unavailable if gRPC makes no callback within 10
  // s: a limit of processes is reached.
  static absl::StatusOr<std::unique_ptr<CallbackThreads>> Start();

 private:
  explicit CallbackThreads(std::shared_ptr<grpc::Channel> channel);

  const std::shared_ptr<grpc::Channel> channel_;  // connects to nothing
};

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_RPC_CALLBACK_THREADS_H_
