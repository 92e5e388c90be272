#include "aggregator/ingest/collection_service.h"

#include <grpcpp/server_context.h>

#include <algorithm>
#include <deque>
#include <map>
#include <utility>

#include "absl/synchronization/mutex.h"
#include "aggregator/access.h"
#include "aggregator/ingest/ingest.h"
#include "aggregator/ingest/session.h"
#include "base/rpc_error.h"
#include "fleetperf/v1/collection.grpc.pb.h"

namespace fleetperf::aggregator {
namespace {

// Responses that wait for an agent to read them.
constexpr size_t kMostResponses = 1000;

// One stream. Reads come one at a time, and one write is under way at most.
// Lives until OnDone.
class CollectStream
    : public grpc::ServerBidiReactor<v1::CollectRequest, v1::CollectResponse> {
 public:
  CollectStream(Ingest* ingest, grpc::CallbackServerContext* context)
      : link_(std::make_shared<Link>(this)) {
    const absl::StatusOr<PeerIdentity> peer =
        CheckAccess(*context, {Role::kAgent});
    if (!peer.ok()) {
      Finish(RpcFromStatus(peer.status()));
      return;
    }
    session_ = std::make_shared<Session>(ingest, *peer, context->peer(), link_);
    StartRead(&request_);
  }

  void OnReadDone(bool ok) override {
    if (!ok) return link_->End(absl::OkStatus());
    const absl::Status status = session_->Handle(std::move(request_));
    if (!status.ok()) return link_->End(status);
    request_.Clear();
    link_->ReadMore(*session_);
  }

  void OnWriteDone(bool ok) override { link_->OnWriteDone(ok); }

  void OnCancel() override { link_->End(absl::CancelledError("cancelled")); }

  void OnDone() override {
    link_->Detach();
    if (session_ != nullptr) session_->Close();
    delete this;
  }

 private:
  // The session's side of the stream. Outlives it, and then does nothing.
  class Link : public AgentLink {
   public:
    explicit Link(CollectStream* stream) : stream_(stream) {}

    void Send(v1::CollectResponse response) override {
      absl::MutexLock lock(&mutex_);
      if (ended_) return;
      if (responses_.size() == kMostResponses) {
        return EndLocked(absl::ResourceExhaustedError(
            "the agent does not read what it is sent"));
      }
      responses_.push_back(std::move(response));
      WriteMore();
    }

    void SendAck(uint64_t epoch, uint64_t sequence) override {
      absl::MutexLock lock(&mutex_);
      if (ended_) return;
      uint64_t& acknowledged = acks_[epoch];
      acknowledged = std::max(acknowledged, sequence);
      WriteMore();
      if (std::exchange(paused_, false)) {
        stream_->StartRead(&stream_->request_);
      }
    }

    void End(const absl::Status& status) override {
      absl::MutexLock lock(&mutex_);
      if (ended_ || !status.ok()) return EndLocked(status);
      closing_ = true;
      WriteMore();
    }

    // Reads the next message now or, if many batches wait for their
    // acknowledgement, after the next one. The session is asked under the lock
    // that SendAck takes, so that the acknowledgement cannot come in between.
    void ReadMore(const Session& session) {
      absl::MutexLock lock(&mutex_);
      if (ended_) return;
      paused_ = session.HasManyUnacknowledged();
      if (!paused_) stream_->StartRead(&stream_->request_);
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
    void EndLocked(const absl::Status& status)
        ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      if (std::exchange(ended_, true)) return;
      end_status_ = status;
      FinishUnlessWriting();
    }

    void WriteMore() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      if (writing_) return;
      if (!responses_.empty()) {
        response_ = std::move(responses_.front());
        responses_.pop_front();
      } else if (!acks_.empty()) {
        const auto ack = acks_.begin();
        response_.mutable_ack()->set_epoch(ack->first);
        response_.mutable_ack()->set_sequence(ack->second);
        acks_.erase(ack);
      } else {
        if (closing_) EndLocked(absl::OkStatus());
        return;
      }
      writing_ = true;
      stream_->StartWrite(&response_);
    }

    // A stream is finished when its last write is done.
    void FinishUnlessWriting() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      if (!writing_) stream_->Finish(RpcFromStatus(end_status_));
    }

    absl::Mutex mutex_;
    CollectStream* stream_ ABSL_GUARDED_BY(mutex_);
    v1::CollectResponse response_ ABSL_GUARDED_BY(mutex_);  // being written
    std::deque<v1::CollectResponse> responses_ ABSL_GUARDED_BY(mutex_);
    std::map<uint64_t, uint64_t> acks_ ABSL_GUARDED_BY(mutex_);
    bool writing_ ABSL_GUARDED_BY(mutex_) = false;
    bool closing_ ABSL_GUARDED_BY(mutex_) = false;  // after the last write
    bool ended_ ABSL_GUARDED_BY(mutex_) = false;
    absl::Status end_status_ ABSL_GUARDED_BY(mutex_);
    bool paused_ ABSL_GUARDED_BY(mutex_) = false;
  };

  const std::shared_ptr<Link> link_;
  std::shared_ptr<Session> session_;
  v1::CollectRequest request_;
};

class CollectionService : public v1::CollectionService::CallbackService {
 public:
  explicit CollectionService(Ingest* ingest) : ingest_(ingest) {}

  grpc::ServerBidiReactor<v1::CollectRequest, v1::CollectResponse>* Collect(
      grpc::CallbackServerContext* context) override {
    return new CollectStream(ingest_, context);
  }

 private:
  Ingest* const ingest_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeCollectionService(Ingest* ingest) {
  return std::make_unique<CollectionService>(ingest);
}

}  // namespace fleetperf::aggregator
