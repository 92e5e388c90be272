#include "aggregator/peers/peer_stream.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/support/client_callback.h>

#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "aggregator/peers/peer_calls.h"
#include "fleetperf/v1/subscription.grpc.pb.h"

namespace fleetperf::aggregator {

// Keeps itself alive until gRPC is done with it. A hold keeps the call open
// while no read is in progress; OnReadDone or Cancel releases it.
class PeerStream::Call : public grpc::ClientReadReactor<v1::SubscribeResponse> {
 public:
  Call(std::shared_ptr<PeerChannel> peer, const v1::SubscribeRequest& request,
       std::function<void()> on_event)
      : peer_(std::move(peer)),
        connection_(peer_->ForStream()),
        stub_(v1::SubscriptionService::NewStub(connection_->channel)),
        request_(request),
        on_event_(std::move(on_event)) {}

  void Start(std::shared_ptr<Call> self) {
    self_ = std::move(self);
    stub_->async()->Subscribe(&context_, &request_, this);
    AddHold();
    StartRead(&incoming_);
    StartCall();
  }

  void Cancel() {
    context_.TryCancel();
    bool must_release = false;
    {
      absl::MutexLock lock(&mutex_);
      is_cancelled_ = true;
      must_release = std::exchange(has_message_, false);
    }
    if (must_release) RemoveHold();
  }

  bool Take(v1::SubscribeResponse* message) {
    {
      absl::MutexLock lock(&mutex_);
      if (!has_message_) return false;
      has_message_ = false;
      has_answered_ = true;
    }
    *message = std::exchange(incoming_, {});
    StartRead(&incoming_);
    return true;
  }

  std::optional<absl::Status> ended() const {
    absl::MutexLock lock(&mutex_);
    return ended_;
  }

 private:
  // A peer without a place for one more subscriber has not answered.
  bool IsErrorOfRequest(const grpc::Status& status) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return status.error_code() == grpc::StatusCode::INVALID_ARGUMENT ||
           (status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED &&
            has_answered_);
  }

  void OnReadDone(bool ok) override {
    bool must_release = false;
    {
      absl::MutexLock lock(&mutex_);
      must_release = !ok || is_cancelled_;
      has_message_ = !must_release;
    }
    if (must_release) return RemoveHold();
    on_event_();
  }

  void OnDone(const grpc::Status& status) override {
    {
      absl::MutexLock lock(&mutex_);
      ended_ = PeerError(*peer_, status, has_answered_);
      if (ended_->ok()) {
        ended_ = absl::UnavailableError(absl::StrCat(
            "the aggregator at ", peer_->address(), " ended the call"));
      } else if (IsErrorOfRequest(status)) {
        ended_ =
            absl::Status(static_cast<absl::StatusCode>(status.error_code()),
                         ended_->message());
      }
    }
    on_event_();
    // The last statement, which may delete the object.
    const std::shared_ptr<Call> self = std::move(self_);
  }

  const std::shared_ptr<PeerChannel> peer_;
  const std::shared_ptr<const PeerChannel::Connection> connection_;
  const std::unique_ptr<v1::SubscriptionService::Stub> stub_;
  const v1::SubscribeRequest request_;
  const std::function<void()> on_event_;
  grpc::ClientContext context_;
  std::shared_ptr<Call> self_;
  // Used by gRPC while a read is in progress, otherwise by Take.
  v1::SubscribeResponse incoming_;
  mutable absl::Mutex mutex_;
  bool has_message_ ABSL_GUARDED_BY(mutex_) = false;  // no read is in progress
  bool has_answered_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<absl::Status> ended_ ABSL_GUARDED_BY(mutex_);
};

PeerStream::PeerStream(std::shared_ptr<PeerChannel> peer,
                       const v1::SubscribeRequest& request,
                       std::function<void()> on_event)
    : call_(std::make_shared<Call>(std::move(peer), request,
                                   std::move(on_event))) {
  call_->Start(call_);
}

PeerStream::~PeerStream() { call_->Cancel(); }

bool PeerStream::Take(v1::SubscribeResponse* message) {
  return call_->Take(message);
}

std::optional<absl::Status> PeerStream::ended() const { return call_->ended(); }

}  // namespace fleetperf::aggregator
