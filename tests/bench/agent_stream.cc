#include "tests/bench/agent_stream.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/support/client_callback.h>

#include <algorithm>
#include <deque>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "base/channel.h"
#include "base/rpc_error.h"
#include "base/status_macros.h"
#include "fleetperf/v1/collection.grpc.pb.h"
#include "proto/conversions.h"

namespace fleetperf::bench {

// A read is always in flight, so the stream is open until a read fails.
class AgentStream::Reactor
    : public grpc::ClientBidiReactor<v1::CollectRequest, v1::CollectResponse> {
 public:
  Reactor(v1::CollectRequest hello, OnAcknowledged on_acknowledged)
      : on_acknowledged_(std::move(on_acknowledged)) {
    to_send_.push_back(std::move(hello));
  }

  void Begin() {
    StartRead(&response_);
    StartCall();
    absl::MutexLock lock(&mutex_);
    may_send_ = 1;  // the Hello
    WriteMore();
  }

  absl::Status AwaitWelcome() {
    const auto is_welcome = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return window_ > 0;
    };
    return AwaitThat(is_welcome);
  }

  absl::Status CheckOpen() {
    absl::MutexLock lock(&mutex_);
    if (!done_) return absl::OkStatus();
    RETURN_IF_ERROR(problem_);
    return absl::UnavailableError("the aggregator ended the stream");
  }

  void Send(v1::CollectRequest batch) {
    absl::MutexLock lock(&mutex_);
    last_ = batch.batch().sequence();
    to_send_.push_back(std::move(batch));
    WriteMore();
  }

  absl::Status AwaitAcknowledged() {
    const auto is_acknowledged = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(
                                     mutex_) { return acknowledged_ == last_; };
    return AwaitThat(is_acknowledged);
  }

  absl::Status Finish() {
    absl::MutexLock lock(&mutex_);
    to_send_.clear();
    closing_ = true;
    WriteMore();
    mutex_.Await(absl::Condition(&done_));
    return problem_;
  }

  void OnReadDone(bool ok) override {
    absl::MutexLock lock(&mutex_);
    if (!ok) {
      ended_ = true;
      return;
    }
    Take();
    response_.Clear();
    StartRead(&response_);
  }

  void OnWriteDone(bool) override {
    absl::MutexLock lock(&mutex_);
    is_writing_ = false;
    WriteMore();
  }

  void OnDone(const grpc::Status& status) override {
    absl::MutexLock lock(&mutex_);
    if (problem_.ok() && !closing_) {
      problem_ = StatusFromRpc(status, "the aggregator");
    }
    ended_ = done_ = true;
  }

 private:
  template <typename Condition>
  absl::Status AwaitThat(const Condition& condition) {
    absl::MutexLock lock(&mutex_);
    const auto settled = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return condition() || done_ || !problem_.ok();
    };
    mutex_.Await(absl::Condition(&settled));
    RETURN_IF_ERROR(problem_);
    if (condition()) return absl::OkStatus();
    return absl::UnavailableError("the aggregator ended the stream");
  }

  void Take() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    switch (response_.message_case()) {
      case v1::CollectResponse::kWelcome:
        window_ = response_.welcome().limits().max_unacknowledged_batches();
        may_send_ = window_;
        break;
      case v1::CollectResponse::kAck:
        acknowledged_ = std::max(acknowledged_, response_.ack().sequence());
        may_send_ = acknowledged_ + window_ - sent_;
        on_acknowledged_(acknowledged_);
        break;
      case v1::CollectResponse::kReject:
        problem_ = absl::InternalError(absl::StrCat(
            "the aggregator rejected a batch: ", response_.reject().reason()));
        break;
      case v1::CollectResponse::kThrottle:
        problem_ = absl::ResourceExhaustedError(
            absl::StrCat("the aggregator throttled the agent: ",
                         response_.throttle().reason()));
        break;
      default:
        break;
    }
    WriteMore();
  }

  void WriteMore() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (is_writing_ || ended_) return;
    if (closing_ && !half_closed_) {
      half_closed_ = true;
      StartWritesDone();
      return;
    }
    if (to_send_.empty() || may_send_ == 0) return;
    request_ = std::move(to_send_.front());
    to_send_.pop_front();
    --may_send_;
    if (request_.has_batch()) sent_ = request_.batch().sequence();
    is_writing_ = true;
    StartWrite(&request_);
  }

  const OnAcknowledged on_acknowledged_;
  // At most one write and one read are in flight.
  v1::CollectRequest request_;
  v1::CollectResponse response_;

  absl::Mutex mutex_;
  std::deque<v1::CollectRequest> to_send_ ABSL_GUARDED_BY(mutex_);
  uint64_t window_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t may_send_ ABSL_GUARDED_BY(mutex_) = 0;  // messages
  uint64_t sent_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t acknowledged_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t last_ ABSL_GUARDED_BY(mutex_) = 0;
  bool is_writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  bool half_closed_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  bool done_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status problem_ ABSL_GUARDED_BY(mutex_);
};

struct AgentStream::Connection {
  std::unique_ptr<v1::CollectionService::Stub> stub;
  grpc::ClientContext context;
  std::unique_ptr<Reactor> reactor;
};

namespace {

v1::CollectRequest MakeHello(const std::string& agent, uint64_t epoch) {
  v1::CollectRequest request;
  v1::Hello* hello = request.mutable_hello();
  hello->set_agent(agent);
  hello->set_epoch(epoch);
  *hello->mutable_time() = ToProto(absl::Now());
  v1::HeldEpoch* held = hello->add_held_epochs();
  held->set_epoch(epoch);
  held->set_first_sequence(1);
  return request;
}

}  // namespace

AgentStream::AgentStream(
    const std::string& address,
    const std::shared_ptr<grpc::ChannelCredentials>& credentials,
    const std::string& agent, uint64_t epoch, OnAcknowledged on_acknowledged)
    : connection_(std::make_unique<Connection>()) {
  Connection& connection = *connection_;
  connection.reactor = std::make_unique<Reactor>(MakeHello(agent, epoch),
                                                 std::move(on_acknowledged));
  connection.stub = v1::CollectionService::NewStub(
      MakeChannel(address, credentials, ReceiveVolume::kLow));
  connection.stub->async()->Collect(&connection.context,
                                    connection.reactor.get());
  connection.reactor->Begin();
}

AgentStream::~AgentStream() { connection_->reactor->Finish().IgnoreError(); }

absl::Status AgentStream::AwaitWelcome() {
  return connection_->reactor->AwaitWelcome();
}

absl::Status AgentStream::CheckOpen() const {
  return connection_->reactor->CheckOpen();
}

void AgentStream::Send(v1::CollectRequest batch) {
  connection_->reactor->Send(std::move(batch));
}

absl::Status AgentStream::AwaitAcknowledged() {
  return connection_->reactor->AwaitAcknowledged();
}

}  // namespace fleetperf::bench
