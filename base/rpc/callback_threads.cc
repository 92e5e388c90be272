#include "base/rpc/callback_threads.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <utility>

#include "absl/synchronization/mutex.h"
#include "base/wakeup.h"

namespace fleetperf {
namespace {

constexpr absl::Duration kCallbackTime = absl::Seconds(10);

// A call, which lives until its callback.
struct Call {
  grpc::ClientContext context;
  const grpc::Slice empty;
  grpc::ByteBuffer request{&empty, 1};  // without a slice, it is invalid
  grpc::ByteBuffer response;
  absl::Mutex mutex;
  Wakeup ended;
  bool has_ended = false;  // guarded by mutex
};

}  // namespace

CallbackThreads::CallbackThreads(std::shared_ptr<grpc::Channel> channel)
    : channel_(std::move(channel)) {}

absl::StatusOr<std::unique_ptr<CallbackThreads>> CallbackThreads::Start() {
  // Without credentials, each call fails.
  std::shared_ptr<grpc::Channel> channel = grpc::CreateCustomChannel(
      "no address", nullptr, grpc::ChannelArguments());
  const auto call = std::make_shared<Call>();
  grpc::GenericStub(channel).UnaryCall(
      &call->context, "/no/method", grpc::StubOptions(), &call->request,
      &call->response, [call](const grpc::Status&) {
        absl::MutexLock lock(&call->mutex);
        call->has_ended = true;
        call->ended.Notify();
      });
  absl::MutexLock lock(&call->mutex);
  if (!call->ended.Await(&call->mutex, kCallbackTime,
                         [&] { return call->has_ended; })) {
    return absl::UnavailableError(
        "cannot start the threads of gRPC; see ulimit -u and the service's "
        "TasksMax=");
  }
  return std::unique_ptr<CallbackThreads>(
      new CallbackThreads(std::move(channel)));
}

}  // namespace fleetperf
