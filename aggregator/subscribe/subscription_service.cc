#include "aggregator/subscribe/subscription_service.h"

#include <grpcpp/server_context.h>

#include <deque>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "aggregator/access.h"
#include "aggregator/query/explain_miss.h"
#include "base/rpc_error.h"
#include "base/status_macros.h"
#include "fleetperf/v1/subscription.grpc.pb.h"
#include "proto/conversions.h"

namespace fleetperf::aggregator {
namespace {

// Updates that wait for a slow subscriber.
constexpr size_t kMaxQueuedUpdates = 64;

uint64_t CountPoints(const v1::Update& update) {
  uint64_t count = update.lagged();
  for (const v1::Points& points : update.points()) {
    count += static_cast<uint64_t>(points.values_size());
  }
  return count;
}

// One subscriber's stream. Lives until OnDone.
class SubscribeStream : public grpc::ServerWriteReactor<v1::SubscribeResponse> {
 public:
  SubscribeStream(const grpc::CallbackServerContext& context,
                  const v1::SubscribeRequest& request, Store* store,
                  Fleet* fleet, Hub* hub)
      : hub_(*hub), outlet_(std::make_shared<Outlet>(this)) {
    const absl::Status status = Start(context, request, store);
    if (!status.ok()) outlet_->End(ExplainMiss(status, fleet));
  }

  void OnWriteDone(bool ok) override { outlet_->OnWriteDone(ok); }
  void OnCancel() override { outlet_->End(absl::CancelledError("cancelled")); }

  void OnDone() override {
    outlet_->Detach();
    if (subscription_ != nullptr) hub_.Remove(subscription_);
    delete this;
  }

 private:
  class Outlet : public SubscriptionOutlet {
   public:
    explicit Outlet(SubscribeStream* stream) : stream_(stream) {}

    void Send(v1::SubscribeResponse response) override {
      absl::MutexLock lock(&mutex_);
      if (ended_) return;
      queued_updates_ += response.has_update();
      queue_.push_back(std::move(response));
      if (queued_updates_ > kMaxQueuedUpdates) DropOldestUpdate();
      WriteMore();
    }

    void End(const absl::Status& status) override {
      absl::MutexLock lock(&mutex_);
      if (std::exchange(ended_, true)) return;
      end_status_ = status;
      FinishUnlessWriting();
    }

    void OnWriteDone(bool ok) {
      absl::MutexLock lock(&mutex_);
      writing_ = false;
      if (ended_) {
        FinishUnlessWriting();
      } else if (ok) {
        WriteMore();
      }
    }

    void Detach() {
      absl::MutexLock lock(&mutex_);
      ended_ = true;
      stream_ = nullptr;
    }

   private:
    // Series and their ends are kept; the next update counts what is lost.
    void DropOldestUpdate() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      for (auto entry = queue_.begin(); entry != queue_.end(); ++entry) {
        if (!entry->has_update()) continue;
        lagged_ += CountPoints(entry->update());
        queue_.erase(entry);
        --queued_updates_;
        return;
      }
    }

    void WriteMore() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      if (writing_ || queue_.empty()) return;
      response_ = std::move(queue_.front());
      queue_.pop_front();
      if (response_.has_update()) {
        --queued_updates_;
        response_.mutable_update()->set_lagged(response_.update().lagged() +
                                               std::exchange(lagged_, 0));
      }
      writing_ = true;
      stream_->StartWrite(&response_);
    }

    // A stream is finished when its last write is done.
    void FinishUnlessWriting() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      if (!writing_) stream_->Finish(RpcFromStatus(end_status_));
    }

    absl::Mutex mutex_;
    SubscribeStream* stream_ ABSL_GUARDED_BY(mutex_);
    v1::SubscribeResponse response_ ABSL_GUARDED_BY(mutex_);  // being written
    std::deque<v1::SubscribeResponse> queue_ ABSL_GUARDED_BY(mutex_);
    size_t queued_updates_ ABSL_GUARDED_BY(mutex_) = 0;
    uint64_t lagged_ ABSL_GUARDED_BY(mutex_) = 0;
    bool writing_ ABSL_GUARDED_BY(mutex_) = false;
    bool ended_ ABSL_GUARDED_BY(mutex_) = false;
    absl::Status end_status_ ABSL_GUARDED_BY(mutex_);
  };

  absl::Status Start(const grpc::CallbackServerContext& context,
                     const v1::SubscribeRequest& request, Store* store) {
    RETURN_IF_ERROR(
        CheckAccess(context, {Role::kReader, Role::kOperator}).status());
    const absl::Duration interval = FromProto(request.interval());
    if (request.has_interval() && interval < absl::Seconds(1)) {
      return absl::InvalidArgumentError(
          absl::StrCat("an interval of ", absl::FormatDuration(interval),
                       " is too short: the shortest is 1s"));
    }
    ASSIGN_OR_RETURN(PathSet paths, PathSet::Parse({request.paths().begin(),
                                                    request.paths().end()},
                                                   store->directory()));
    RETURN_IF_ERROR(paths.Select(store->directory()).status());
    subscription_ = std::make_shared<Subscription>(std::move(paths), interval,
                                                   store, outlet_);
    return hub_.Add(subscription_);
  }

  Hub& hub_;
  const std::shared_ptr<Outlet> outlet_;
  std::shared_ptr<Subscription> subscription_;
};

class SubscriptionService : public v1::SubscriptionService::CallbackService {
 public:
  SubscriptionService(Store* store, Fleet* fleet, Hub* hub)
      : store_(store), fleet_(fleet), hub_(hub) {}

  grpc::ServerWriteReactor<v1::SubscribeResponse>* Subscribe(
      grpc::CallbackServerContext* context,
      const v1::SubscribeRequest* request) override {
    return new SubscribeStream(*context, *request, store_, fleet_, hub_);
  }

 private:
  Store* const store_;
  Fleet* const fleet_;
  Hub* const hub_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeSubscriptionService(Store* store,
                                                       Fleet* fleet, Hub* hub) {
  return std::make_unique<SubscriptionService>(store, fleet, hub);
}

}  // namespace fleetperf::aggregator
