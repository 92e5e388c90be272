#include "aggregator/services/subscription_service.h"

#include <grpcpp/support/byte_buffer.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "aggregator/formula/unit.h"
#include "aggregator/query/explain_miss.h"
#include "aggregator/query/expression.h"
#include "aggregator/query/path_check.h"
#include "aggregator/query/request_limits.h"
#include "aggregator/rpc/access.h"
#include "aggregator/rpc/rpc_stream.h"
#include "aggregator/services/subscriber_places.h"
#include "aggregator/services/turns.h"
#include "base/rpc_error.h"
#include "base/status_macros.h"
#include "fleetperf/v1/subscription.grpc.pb.h"
#include "proto/conversions.h"

namespace fleetperf::aggregator {
namespace {

// Converts a request to a subscription. Returns InvalidArgument if it is
// malformed.
absl::StatusOr<SubscriptionRequest> ParseRequest(
    const v1::SubscribeRequest& proto, const Directory& directory) {
  RETURN_IF_ERROR(CheckPathsAndFilter(proto));
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
        "raw samples cannot be combined with interval, where, top and "
        "bottom");
  }
  const std::vector<std::string> known = directory.CountersetNames();
  ASSIGN_OR_RETURN(
      const std::vector<std::string> texts,
      ParsePlainPaths({proto.paths().begin(), proto.paths().end()}, known));
  ASSIGN_OR_RETURN(PathSet paths, PathSet::Parse(texts, known));
  RETURN_IF_ERROR(CheckMachinePatterns(paths.machine_patterns()));
  paths.LimitTo(MachineFilter::Of(proto, directory));
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

// Returns InvalidArgument if the condition's number cannot be converted to the
// unit of a selected counter.
absl::Status CheckUnits(const SubscriptionRequest& request,
                        const Directory& directory,
                        const IsCancelled& is_cancelled) {
  if (!request.choice.where.has_value()) return absl::OkStatus();
  std::vector<absl::Status> missed;
  ASSIGN_OR_RETURN(const Selected selected,
                   request.paths.Select(directory, &missed, is_cancelled));
  for (const auto& [machine, countersets] : selected) {
    for (const SelectedCounterset& counterset : countersets) {
      const auto& registration = counterset.schema->registration;
      for (const Selection& selection : counterset.selections) {
        for (const uint32_t id : selection.counter_ids) {
          const auto& counter = *registration.FindCounter(id);
          RETURN_IF_ERROR(
              request.choice.where
                  ->In(UnitOf(counter), absl::StrCat("\\", registration.name,
                                                     "\\", counter.name))
                  .status());
        }
      }
    }
  }
  return absl::OkStatus();
}

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

absl::StatusOr<v1::SubscribeRequest> Decode(grpc::ByteBuffer bytes) {
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

// The objects that subscriptions use. All must outlive the server.
struct Subscribed {
  Store& store;
  Fleet& fleet;
  Hub& hub;
  const Clock& clock;
  SubscriberPlaces& places;
  Turns& starts;  // on the hub's threads
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
  // A thread of the hub starts the subscription, because its paths may have to
  // be resolved against the whole fleet. That must not block the loop's thread,
  // which serves all streams.
  void OnStart() override {
    new SubscribeStream(subscribed_, &service_, &loop());
    const absl::Status admitted = Admit();
    if (!admitted.ok()) return writer_->Open(nullptr, {}, admitted);
    subscribed_.starts.Post(CallerOf(context()), [this] { Start(); });
  }

  absl::Status Admit() {
    RETURN_IF_ERROR(
        CheckAccess(context(), {Role::kReader, Role::kOperator}).status());
    auto place = subscribed_.places.Enter(CallerOf(context()));
    if (!place.ok()) {
      subscribed_.hub.CountRefused();
      return place.status();
    }
    place_ = *std::move(place);
    return absl::OkStatus();
  }

  void OnWriteDone(bool ok) override { writer_->OnWriteDone(ok); }
  void OnCancel() override {
    is_cancelled_ = true;
    writer_->End(absl::CancelledError("cancelled"));
  }

  void OnDone() override {
    writer_->Detach();
    if (subscription_ == nullptr) return;
    subscribed_.hub.Post(
        [hub = &subscribed_.hub, subscription = std::move(subscription_)] {
          hub->Remove(subscription);
        });
  }

  // Writes the outbox's messages one by one. Outlives the stream, because other
  // threads put messages into the outbox. Thread-safe.
  class Writer {
   public:
    explicit Writer(SubscribeStream* stream) : stream_(stream) {}

    // Before Open, nothing is written and the stream stays open. After Open,
    // the stream may be done at any time. If `status` is not OK, the stream
    // ends with it.
    // `first` is part of the first message.
    void Open(std::shared_ptr<Outbox> outbox,
              const v1::SubscribeResponse& first, const absl::Status& status) {
      absl::MutexLock lock(&mutex_);
      outbox_ = std::move(outbox);
      first_ = first;
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
      if (end_.ok() && outbox_->Take(&message_)) {
        stream_->subscribed_.hub.CountLagged(message_.response.lagged());
        message_.response.MergeFrom(first_);
        first_.Clear();
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
    bool is_open_ ABSL_GUARDED_BY(mutex_) = false;
    std::shared_ptr<Outbox> outbox_ ABSL_GUARDED_BY(mutex_);
    v1::SubscribeResponse first_ ABSL_GUARDED_BY(mutex_);
    Outbox::Message message_ ABSL_GUARDED_BY(mutex_);
    grpc::ByteBuffer bytes_ ABSL_GUARDED_BY(mutex_);  // being written
    bool is_writing_ ABSL_GUARDED_BY(mutex_) = false;
    bool is_finished_ ABSL_GUARDED_BY(mutex_) = false;
    absl::Status end_ ABSL_GUARDED_BY(mutex_);
  };

  // Runs on a thread of the hub.
  void Start() {
    v1::SubscribeResponse first;
    const absl::Status status = Subscribe(&first);
    writer_->Open(subscription_ == nullptr ? nullptr : subscription_->outbox(),
                  first, status);
  }

  // Adds the missing paths to `first`.
  absl::Status Subscribe(v1::SubscribeResponse* first) {
    const IsCancelled is_cancelled = [this] { return is_cancelled_.load(); };
    RETURN_IF_ERROR(CheckNotCancelled(is_cancelled));
    ASSIGN_OR_RETURN(const v1::SubscribeRequest request, Decode(request_));
    ASSIGN_OR_RETURN(SubscriptionRequest parsed,
                     ParseRequest(request, subscribed_.store.directory()));
    RETURN_IF_ERROR(
        CheckUnits(parsed, subscribed_.store.directory(), is_cancelled));
    const auto subscription =
        std::make_shared<Subscription>(std::move(parsed), &subscribed_.clock);
    subscription->outbox()->SetListener(
        [waiting = std::weak_ptr<Writer>(writer_)] {
          if (const auto locked = waiting.lock()) locked->WriteMore();
        });
    const MachineFilter machines =
        MachineFilter::Of(request, subscribed_.store.directory());
    std::vector<absl::Status> missed;
    const absl::Status added =
        subscribed_.hub.Add(subscription, &missed, is_cancelled);
    if (!added.ok()) {
      return ExplainMiss(added, &subscribed_.fleet, machines, is_cancelled);
    }
    subscription_ = subscription;
    for (size_t i = 0; i < missed.size(); ++i) {
      *first->add_missing() = ToMissing(
          i < kMaxMissesExplained ? ExplainMiss(missed[i], &subscribed_.fleet,
                                                machines, is_cancelled)
                                  : missed[i]);
    }
    return absl::OkStatus();
  }

  const Subscribed subscribed_;
  AsyncSubscriptionService& service_;
  grpc::ByteBuffer request_;
  std::atomic<bool> is_cancelled_ = false;
  std::unique_ptr<SubscriberPlaces::Place> place_;
  const std::shared_ptr<Writer> writer_ = std::make_shared<Writer>(this);
  // nullptr: the subscription did not start.
  std::shared_ptr<Subscription> subscription_;
};

class SubscriptionService : public StreamService {
 public:
  SubscriptionService(Store* store, Fleet* fleet, Hub* hub, const Clock* clock)
      : places_(hub->limits().max_subscribers),
        starts_(Turns::Make(
            [hub](Turns::Task start) { hub->Post(std::move(start)); })),
        subscribed_{.store = *store,
                    .fleet = *fleet,
                    .hub = *hub,
                    .clock = *clock,
                    .places = places_,
                    .starts = *starts_} {}

  grpc::Service& service() override { return service_; }

  // Deletes itself when it is done.
  void AcceptOn(EventLoop* loop) override {
    new SubscribeStream(subscribed_, &service_, loop);
  }

 private:
  SubscriberPlaces places_;
  const std::shared_ptr<Turns> starts_;
  const Subscribed subscribed_;
  AsyncSubscriptionService service_;
};

}  // namespace

std::unique_ptr<StreamService> MakeSubscriptionService(Store* store,
                                                       Fleet* fleet, Hub* hub,
                                                       const Clock* clock) {
  return std::make_unique<SubscriptionService>(store, fleet, hub, clock);
}

}  // namespace fleetperf::aggregator
