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
#include "base/rpc/channel.h"
#include "base/rpc/rpc_error.h"
#include "base/status_macros.h"
#include "fleetperf/v1/collection.grpc.pb.h"
#include "proto/conversions.h"

namespace fleetperf::bench {

namespace {

v1::CollectRequest MakeHello(const std::string& agent, uint64_t epoch,
                             uint64_t first_sequence, uint64_t last_sequence) {
  v1::CollectRequest request;
  v1::Hello* hello = request.mutable_hello();
  hello->set_agent(agent);
  hello->set_epoch(epoch);
  *hello->mutable_time() = ToProto(absl::Now());
  hello->set_agent_version("1.0.0");
  hello->set_operating_system("Linux 6.1.0-26-amd64");
  (*hello->mutable_labels())["role"] = "web";
  (*hello->mutable_labels())["site"] = "oslo";
  v1::HeldEpoch* held = hello->add_held_epochs();
  held->set_epoch(epoch);
  held->set_first_sequence(first_sequence);
  held->set_last_sequence(last_sequence);
  return request;
}

}  // namespace

// The stream's calls, one at a time. A read is always in flight, so a call is
// open until a read fails. Thread-safe.
class AgentStream::Connection {
 public:
  Connection(const std::shared_ptr<grpc::Channel>& channel, std::string agent,
             uint64_t epoch, OnAcknowledged on_acknowledged)
      : stub_(v1::CollectionService::NewStub(channel)),
        agent_(std::move(agent)),
        epoch_(epoch),
        on_acknowledged_(std::move(on_acknowledged)) {}

  // Starts a call, which begins with a Hello.
  void Begin() {
    absl::MutexLock lock(&mutex_);
    ended_ = false;
    window_ = 0;
    sending_ = std::make_shared<v1::CollectRequest>(
        MakeHello(agent_, epoch_, acknowledged_ + 1, last_));
    Call& call = calls_.emplace_back(this);
    stub_->async()->Collect(&call.context, &call);
    call.StartRead(&response_);
    call.StartWrite(sending_.get());
    call.StartCall();
  }

  absl::Status AwaitWelcome() {
    const auto is_welcome = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return window_ > 0;
    };
    return AwaitThat(is_welcome);
  }

  absl::Status Check() {
    absl::MutexLock lock(&mutex_);
    return problem_;
  }

  uint64_t reconnects() {
    absl::MutexLock lock(&mutex_);
    return reconnects_;
  }

  void Send(v1::CollectRequest batch) {
    absl::MutexLock lock(&mutex_);
    last_ = batch.batch().sequence();
    unacknowledged_.push_back(
        std::make_shared<v1::CollectRequest>(std::move(batch)));
    WriteMore();
  }

  absl::Status AwaitAcknowledged() {
    const auto is_acknowledged = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(
                                     mutex_) { return acknowledged_ == last_; };
    return AwaitThat(is_acknowledged);
  }

  void Finish() {
    absl::MutexLock lock(&mutex_);
    unacknowledged_.clear();
    closing_ = true;
    WriteMore();
    mutex_.Await(absl::Condition(&done_));
  }

 private:
  struct Call : public grpc::ClientBidiReactor<v1::CollectRequest,
                                               v1::CollectResponse> {
    explicit Call(Connection* owner) : connection(*owner) {}

    void OnReadDone(bool ok) override { connection.OnReadDone(ok); }
    void OnWriteDone(bool) override { connection.OnWriteDone(); }
    void OnDone(const grpc::Status& status) override {
      connection.OnDone(StatusFromRpc(status, "the aggregator"));
    }

    Connection& connection;
    grpc::ClientContext context;
  };

  void OnReadDone(bool ok) {
    absl::MutexLock lock(&mutex_);
    if (!ok) {
      ended_ = true;
      return;
    }
    Take();
    response_.Clear();
    calls_.back().StartRead(&response_);
  }

  void OnWriteDone() {
    absl::MutexLock lock(&mutex_);
    sending_ = nullptr;
    WriteMore();
  }

  // A call that ends without an error asks the agent to reconnect.
  void OnDone(const absl::Status& status) {
    {
      absl::MutexLock lock(&mutex_);
      if (closing_ || !status.ok() || !problem_.ok()) {
        if (!closing_ && problem_.ok()) problem_ = status;
        ended_ = done_ = true;
        return;
      }
      ++reconnects_;
    }
    Begin();
  }

  template <typename Condition>
  absl::Status AwaitThat(const Condition& condition) {
    absl::MutexLock lock(&mutex_);
    const auto settled = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return condition() || !problem_.ok();
    };
    mutex_.Await(absl::Condition(&settled));
    return problem_;
  }

  void Take() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    switch (response_.message_case()) {
      case v1::CollectResponse::kWelcome:
        window_ = response_.welcome().limits().max_unacknowledged_batches();
        for (const v1::EpochState& epoch : response_.welcome().epochs()) {
          Acknowledge(epoch.durable_sequence());
        }
        sent_ = acknowledged_;
        break;
      case v1::CollectResponse::kAck:
        Acknowledge(response_.ack().sequence());
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

  void Acknowledge(uint64_t sequence) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (sequence <= acknowledged_) return;
    acknowledged_ = sequence;
    sent_ = std::max(sent_, sequence);
    while (!unacknowledged_.empty() &&
           unacknowledged_.front()->batch().sequence() <= sequence) {
      unacknowledged_.pop_front();
    }
    on_acknowledged_(sequence);
  }

  void WriteMore() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (sending_ != nullptr || ended_) return;
    if (closing_) {
      if (!std::exchange(half_closed_, true)) calls_.back().StartWritesDone();
      return;
    }
    // Batches have consecutive sequences.
    const uint64_t in_flight = sent_ - acknowledged_;
    if (in_flight >= std::min<uint64_t>(window_, unacknowledged_.size())) {
      return;
    }
    sending_ = unacknowledged_[in_flight];
    ++sent_;
    calls_.back().StartWrite(sending_.get());
  }

  const std::unique_ptr<v1::CollectionService::Stub> stub_;
  const std::string agent_;
  const uint64_t epoch_;
  const OnAcknowledged on_acknowledged_;
  // At most one read is in flight.
  v1::CollectResponse response_;

  absl::Mutex mutex_;
  // The last one is current. The others are kept, because their contexts refer
  // to the channel, which gRPC's threads must not delete.
  std::deque<Call> calls_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<const v1::CollectRequest> sending_ ABSL_GUARDED_BY(mutex_);
  std::deque<std::shared_ptr<const v1::CollectRequest>> unacknowledged_
      ABSL_GUARDED_BY(mutex_);
  uint64_t window_ ABSL_GUARDED_BY(mutex_) = 0;  // 0 until Welcome
  // Sequences.
  uint64_t sent_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t acknowledged_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t last_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t reconnects_ ABSL_GUARDED_BY(mutex_) = 0;
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  bool half_closed_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;  // the call
  bool done_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status problem_ ABSL_GUARDED_BY(mutex_);
};

AgentStream::AgentStream(
    const std::string& address,
    const std::shared_ptr<grpc::ChannelCredentials>& credentials,
    const std::string& agent, uint64_t epoch, OnAcknowledged on_acknowledged)
    : connection_(std::make_unique<Connection>(
          MakeChannel(address, credentials, ReceiveVolume::kLow), agent, epoch,
          std::move(on_acknowledged))) {
  connection_->Begin();
}

AgentStream::~AgentStream() { connection_->Finish(); }

absl::Status AgentStream::AwaitWelcome() { return connection_->AwaitWelcome(); }

absl::Status AgentStream::Check() const { return connection_->Check(); }

uint64_t AgentStream::reconnects() const { return connection_->reconnects(); }

void AgentStream::Send(v1::CollectRequest batch) {
  connection_->Send(std::move(batch));
}

absl::Status AgentStream::AwaitAcknowledged() {
  return connection_->AwaitAcknowledged();
}

}  // namespace fleetperf::bench
