#include <grpcpp/support/byte_buffer.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "aggregator/query/request_limits.h"
#include "aggregator/services/services.h"
#include "aggregator/services/subscriptions.h"
#include "base/rpc/rpc_error.h"
#include "base/server/access.h"
#include "base/server/rpc_stream.h"
#include "base/server/stream_service.h"
#include "base/status_macros.h"
#include "fleetperf/v1/subscription.grpc.pb.h"

namespace fleetperf::aggregator {
namespace {

// Returns a slice that shares the bytes among all streams that write them.
grpc::Slice Share(std::shared_ptr<const std::string> bytes) {
  auto* const kept = new std::shared_ptr<const std::string>(std::move(bytes));
  return grpc::Slice(
      const_cast<char*>((*kept)->data()), (*kept)->size(),
      [](void* pointer) {
        delete static_cast<std::shared_ptr<const std::string>*>(pointer);
      },
      kept);
}

grpc::ByteBuffer Encode(const Outbox::Message& message) {
  // Concatenated serialized messages parse as one merged message.
  std::vector<grpc::Slice> slices = {
      grpc::Slice(message.response.SerializeAsString())};
  for (const auto& part : message.encoded_values) slices.push_back(Share(part));
  return grpc::ByteBuffer(slices.data(), slices.size());
}

// A request may take ten times as much memory as its bytes, so its size is
// checked before it is parsed.
absl::StatusOr<v1::SubscribeRequest> Decode(grpc::ByteBuffer bytes) {
  if (bytes.Length() > kMaxRequestBytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the request has ", bytes.Length(), " bytes, more than ",
        kMaxRequestBytes, ": select counters and machines with wildcards"));
  }
  v1::SubscribeRequest request;
  const grpc::Status status =
      grpc::SerializationTraits<v1::SubscribeRequest>::Deserialize(&bytes,
                                                                   &request);
  if (status.ok()) return request;
  return absl::InvalidArgumentError("the request is not a SubscribeRequest");
}

// The service with serialized messages: many subscribers share the same bytes.
using AsyncSubscriptionService =
    v1::SubscriptionService::WithRawMethod_Subscribe<
        v1::SubscriptionService::Service>;

// One subscriber's stream.
class SubscribeStream
    : public RpcStream<grpc::ServerAsyncWriter<grpc::ByteBuffer>> {
 public:
  SubscribeStream(Subscriptions* subscriptions,
                  AsyncSubscriptionService* service, EventLoop* loop)
      : RpcStream(loop), subscriptions_(*subscriptions), service_(*service) {
    service->RequestSubscribe(&context(), &request_, &stream(), &loop->queue(),
                              &loop->queue(), accepted());
  }

 private:
  // A thread of the hub starts the subscription, because its paths may have to
  // be resolved against the whole fleet. That must not block the loop's thread,
  // which serves all streams.
  void OnStart() override {
    new SubscribeStream(&subscriptions_, &service_, &loop());
    const absl::Status admitted = Admit();
    if (!admitted.ok()) return writer_->Open(nullptr, admitted);
    subscriptions_.Post(CallerOf(context()), [this] { Start(); });
  }

  absl::Status Admit() {
    RETURN_IF_ERROR(
        CheckAccess(context(), {Role::kReader, Role::kOperator}).status());
    ASSIGN_OR_RETURN(share_, subscriptions_.Enter(CallerOf(context())));
    return absl::OkStatus();
  }

  void OnWriteDone(bool ok) override { writer_->OnWriteDone(ok); }
  void OnCancel() override {
    is_cancelled_ = true;
    writer_->End(absl::CancelledError("cancelled"));
  }

  void OnDone() override {
    writer_->Detach();
    if (subscription_ != nullptr) subscriptions_.End(std::move(subscription_));
  }

  // Writes the outbox's messages one by one. Outlives the stream, because other
  // threads put messages into the outbox. Thread-safe.
  class Writer {
   public:
    explicit Writer(SubscribeStream* stream) : stream_(stream) {}

    // Before Open, nothing is written and the stream stays open. After Open,
    // the stream may be done at any time. If `status` is not OK, the stream
    // ends with it.
    void Open(std::shared_ptr<Outbox> outbox, const absl::Status& status) {
      absl::MutexLock lock(&mutex_);
      outbox_ = std::move(outbox);
      is_open_ = true;
      end_.Update(status);
      WriteMoreLocked();
    }

    void WriteMore() {
      absl::MutexLock lock(&mutex_);
      WriteMoreLocked();
    }

    void OnWriteDone(bool ok) {
      absl::MutexLock lock(&mutex_);
      is_writing_ = false;
      bytes_.Clear();
      outbox_->SetHeld(0);
      if (!ok) {
        end_.Update(absl::CancelledError("the subscriber disconnected"));
      }
      WriteMoreLocked();
    }

    void End(const absl::Status& status) {
      absl::MutexLock lock(&mutex_);
      end_.Update(status);
      WriteMoreLocked();
    }

    void Detach() {
      absl::MutexLock lock(&mutex_);
      stream_ = nullptr;
    }

   private:
    // Finishes the stream after its last write.
    void WriteMoreLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      if (!is_open_ || is_writing_ || is_finished_ || stream_ == nullptr)
        return;
      // Not kept: the bytes alone may wait for the client for long.
      Outbox::Message message;
      if (end_.ok() && outbox_->Take(&message)) {
        stream_->subscriptions_.CountLagged(message.response.lagged());
        bytes_ = Encode(message);
        outbox_->SetHeld(bytes_.Length());
        is_writing_ = true;
        return stream_->StartWrite(bytes_);
      }
      if (end_.ok()) end_.Update(outbox_->ended().value_or(absl::OkStatus()));
      if (end_.ok()) return;
      is_finished_ = true;
      stream_->Finish(RpcFromStatus(end_));
    }

    absl::Mutex mutex_;
    SubscribeStream* stream_ ABSL_GUARDED_BY(mutex_);
    bool is_open_ ABSL_GUARDED_BY(mutex_) = false;
    std::shared_ptr<Outbox> outbox_ ABSL_GUARDED_BY(mutex_);
    grpc::ByteBuffer bytes_ ABSL_GUARDED_BY(mutex_);  // being written
    bool is_writing_ ABSL_GUARDED_BY(mutex_) = false;
    bool is_finished_ ABSL_GUARDED_BY(mutex_) = false;
    absl::Status end_ ABSL_GUARDED_BY(mutex_);
  };

  // Runs on a thread of the hub.
  void Start() {
    const absl::Status status = Subscribe();
    writer_->Open(subscription_ == nullptr ? nullptr : subscription_->outbox(),
                  status);
  }

  absl::Status Subscribe() {
    ASSIGN_OR_RETURN(const v1::SubscribeRequest request, Decode(request_));
    ASSIGN_OR_RETURN(subscription_,
                     subscriptions_.Begin(
                         request, CallerOf(context()),
                         [waiting = std::weak_ptr<Writer>(writer_)] {
                           if (const auto locked = waiting.lock())
                             locked->WriteMore();
                         },
                         [this] { return is_cancelled_.load(); }));
    return absl::OkStatus();
  }

  Subscriptions& subscriptions_;
  AsyncSubscriptionService& service_;
  grpc::ByteBuffer request_;
  std::atomic<bool> is_cancelled_ = false;
  CallerQuota::Share share_;  // of the subscriptions
  const std::shared_ptr<Writer> writer_ = std::make_shared<Writer>(this);
  // nullptr: the subscription did not start.
  std::shared_ptr<Subscription> subscription_;
};

class SubscriptionService : public StreamService {
 public:
  explicit SubscriptionService(Subscriptions* subscriptions)
      : subscriptions_(*subscriptions) {}

  grpc::Service& service() override { return service_; }

  // Deletes itself when it is done.
  void AcceptOn(EventLoop* loop) override {
    new SubscribeStream(&subscriptions_, &service_, loop);
  }

 private:
  Subscriptions& subscriptions_;
  AsyncSubscriptionService service_;
};

}  // namespace

std::unique_ptr<StreamService> MakeSubscriptionService(
    Subscriptions* subscriptions) {
  return std::make_unique<SubscriptionService>(subscriptions);
}

}  // namespace fleetperf::aggregator
