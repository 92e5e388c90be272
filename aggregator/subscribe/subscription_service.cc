#include "aggregator/subscribe/subscription_service.h"

#include <grpcpp/support/byte_buffer.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "aggregator/query/explain_miss.h"
#include "aggregator/rpc/access.h"
#include "aggregator/rpc/rpc_stream.h"
#include "base/rpc_error.h"
#include "base/status_macros.h"
#include "fleetperf/v1/subscription.grpc.pb.h"
#include "proto/conversions.h"

namespace fleetperf::aggregator {
namespace {

// What a request asks for. Errors: InvalidArgument.
absl::StatusOr<SubscriptionRequest> ParseRequest(
    const v1::SubscribeRequest& proto, const Directory& directory) {
  const absl::Duration interval = FromProto(proto.interval());
  if (proto.has_interval() && interval < absl::Seconds(1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("an interval of ", absl::FormatDuration(interval),
                     " is too short: the shortest is 1s"));
  }
  if (proto.top() > 0 && proto.bottom() > 0) {
    return absl::InvalidArgumentError("top and bottom exclude each other");
  }
  const bool chooses =
      proto.has_where() || proto.top() > 0 || proto.bottom() > 0;
  if (proto.raw() && (chooses || proto.has_interval())) {
    return absl::InvalidArgumentError(
        "raw samples come as they are: without interval, where, top and "
        "bottom");
  }
  ASSIGN_OR_RETURN(
      PathSet paths,
      PathSet::Parse({proto.paths().begin(), proto.paths().end()}, directory));
  SubscriptionRequest request{
      .paths = std::move(paths),
      .form = {.interval = interval, .raw = proto.raw()},
      .choice = {.top = proto.top(), .bottom = proto.bottom()}};
  if (proto.has_where()) {
    ASSIGN_OR_RETURN(request.choice.where, ConditionFromProto(proto.where()));
  }
  if (proto.has_start()) request.start = FromProto(proto.start());
  return request;
}

// Bytes that stay where they are, for all whom they go to.
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
  // Parts of a message that stand one after the other are one message.
  std::vector<grpc::Slice> slices = {
      grpc::Slice(message.response.SerializeAsString())};
  for (const auto& part : message.encoded_values) slices.push_back(Share(part));
  return grpc::ByteBuffer(slices.data(), slices.size());
}

absl::StatusOr<v1::SubscribeRequest> Decode(grpc::ByteBuffer bytes) {
  v1::SubscribeRequest request;
  const grpc::Status status =
      grpc::SerializationTraits<v1::SubscribeRequest>::Deserialize(&bytes,
                                                                   &request);
  if (status.ok()) return request;
  return absl::InvalidArgumentError("the request is no SubscribeRequest");
}

// It takes and gives bytes, since many get the same.
using AsyncSubscriptionService =
    v1::SubscriptionService::WithRawMethod_Subscribe<
        v1::SubscriptionService::Service>;

// What subscriptions need; all of them outlive the server.
struct Subscribed {
  Store& store;
  Fleet& fleet;
  Hub& hub;
};

// One subscriber's stream.
class SubscribeStream
    : public RpcStream<grpc::ServerAsyncWriter<grpc::ByteBuffer>> {
 public:
  SubscribeStream(const Subscribed& subscribed,
                  AsyncSubscriptionService* service, EventLoop* loop)
      : RpcStream(loop), subscribed_(subscribed), service_(*service) {
    service->RequestSubscribe(&context(), &request_, &stream(), &loop->queue(),
                              &loop->queue(), accepted());
  }

 private:
  void OnStart() override {
    new SubscribeStream(subscribed_, &service_, &loop());
    const absl::Status status = Start();
    if (status.ok()) return;
    subscribed_.hub.Schedule(std::make_shared<Refusal>(this, status));
  }

  void OnWriteDone(bool ok) override { writer_->OnWriteDone(ok); }
  void OnCancel() override {
    if (writer_ != nullptr) writer_->End(absl::CancelledError("cancelled"));
  }

  void OnDone() override {
    if (writer_ != nullptr) {
      writer_->Detach();
      subscribed_.hub.Remove(subscription_);
    }
  }

  // Ends a stream that did not begin with what is wrong, for which it may look
  // through the whole fleet.
  class Refusal : public HubTask {
   public:
    Refusal(SubscribeStream* stream, absl::Status status)
        : stream_(*stream), status_(std::move(status)) {}

    bool Work() override {
      stream_.Finish(
          RpcFromStatus(ExplainMiss(status_, &stream_.subscribed_.fleet)));
      return false;
    }

   private:
    SubscribeStream& stream_;
    const absl::Status status_;
  };

  // Writes what is in the outbox, one message after the other. Outlives the
  // stream, for those who put something there.
  class Writer {
   public:
    Writer(SubscribeStream* stream, std::shared_ptr<Outbox> outbox)
        : stream_(stream), outbox_(std::move(outbox)) {}

    void WriteMore() {
      absl::MutexLock lock(&mutex_);
      WriteMoreLocked();
    }

    void OnWriteDone(bool ok) {
      absl::MutexLock lock(&mutex_);
      is_writing_ = false;
      if (!ok) end_.Update(absl::CancelledError("the subscriber is gone"));
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
    // A stream is finished when its last write is done.
    void WriteMoreLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      if (is_writing_ || is_finished_ || stream_ == nullptr) return;
      if (end_.ok() && outbox_->Take(&message_)) {
        bytes_ = Encode(message_);
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
    const std::shared_ptr<Outbox> outbox_;
    Outbox::Message message_ ABSL_GUARDED_BY(mutex_);
    grpc::ByteBuffer bytes_ ABSL_GUARDED_BY(mutex_);  // being written
    bool is_writing_ ABSL_GUARDED_BY(mutex_) = false;
    bool is_finished_ ABSL_GUARDED_BY(mutex_) = false;
    absl::Status end_ ABSL_GUARDED_BY(mutex_);
  };

  absl::Status Start() {
    RETURN_IF_ERROR(
        CheckAccess(context(), {Role::kReader, Role::kOperator}).status());
    ASSIGN_OR_RETURN(const v1::SubscribeRequest request, Decode(request_));
    ASSIGN_OR_RETURN(SubscriptionRequest parsed,
                     ParseRequest(request, subscribed_.store.directory()));
    const auto subscription = std::make_shared<Subscription>(std::move(parsed));
    const auto writer = std::make_shared<Writer>(this, subscription->outbox());
    subscription->outbox()->SetListener(
        [waiting = std::weak_ptr<Writer>(writer)] {
          if (const auto locked = waiting.lock()) locked->WriteMore();
        });
    RETURN_IF_ERROR(subscribed_.hub.Add(subscription));
    subscription_ = subscription;
    writer_ = writer;
    return absl::OkStatus();
  }

  const Subscribed subscribed_;
  AsyncSubscriptionService& service_;
  grpc::ByteBuffer request_;
  std::shared_ptr<Subscription> subscription_;
  std::shared_ptr<Writer> writer_;  // null: it did not begin
};

class SubscriptionService : public StreamService {
 public:
  explicit SubscriptionService(const Subscribed& subscribed)
      : subscribed_(subscribed) {}

  grpc::Service& service() override { return service_; }

  // Streams own themselves.
  void AcceptOn(EventLoop* loop) override {
    new SubscribeStream(subscribed_, &service_, loop);
  }

 private:
  const Subscribed subscribed_;
  AsyncSubscriptionService service_;
};

}  // namespace

std::unique_ptr<StreamService> MakeSubscriptionService(Store* store,
                                                       Fleet* fleet, Hub* hub) {
  return std::make_unique<SubscriptionService>(
      Subscribed{.store = *store, .fleet = *fleet, .hub = *hub});
}

}  // namespace fleetperf::aggregator
