#include <grpcpp/support/byte_buffer.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "aggregator/ingest/ingest.h"
#include "aggregator/ingest/session.h"
#include "aggregator/services/services.h"
#include "base/rpc/rpc_error.h"
#include "base/server/access.h"
#include "base/server/rpc_stream.h"
#include "base/server/stream_service.h"
#include "fleetperf/v1/collection.grpc.pb.h"

namespace fleetperf::aggregator {
namespace {

// The limit of responses that wait until the agent reads them.
constexpr size_t kMaxResponses = 1000;
// The time that an agent has for its first message, which it sends at once.
constexpr absl::Duration kHelloTime = absl::Seconds(10);
// A stream that must pause for longer ends instead. It would hold memory.
constexpr absl::Duration kMaxPause = absl::Minutes(1);
// The time between looks whether a certificate's earlier batches are stored.
constexpr absl::Duration kRoomPause = absl::Milliseconds(50);

// Messages are serialized: those of agents are checked before they are parsed.
using AsyncCollectService = v1::CollectionService::WithRawMethod_Collect<
    v1::CollectionService::Service>;
using AsyncCollectStream =
    grpc::ServerAsyncReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer>;

// Returns the bytes of a message in one piece.
grpc::Slice Join(const grpc::ByteBuffer& buffer) {
  grpc::Slice slice;
  if (!buffer.TrySingleSlice(&slice).ok()) {
    buffer.DumpToSingleSlice(&slice).IgnoreError();
  }
  return slice;
}

// A queue of responses from other threads to an agent. The loop of the agent's
// stream writes them. Outlives the stream; all calls are then no-ops.
// Thread-safe.
class Link : public AgentLink, public std::enable_shared_from_this<Link> {
 public:
  // The loop calls `advance` when a response or the end is available. `loop`
  // must live until Detach.
  Link(EventLoop* loop, std::function<void()> advance)
      : loop_(*loop), advance_(std::move(advance)) {}

  void Send(v1::CollectResponse response) override {
    absl::MutexLock lock(&mutex_);
    if (HasFailed()) return;
    if (responses_.size() == kMaxResponses) {
      end_ =
          absl::ResourceExhaustedError("the agent does not read the responses");
    } else {
      responses_.push_back(std::move(response));
    }
    WakeUp();
  }

  void SendAck(uint64_t epoch, uint64_t sequence) override {
    absl::MutexLock lock(&mutex_);
    if (HasFailed()) return;
    uint64_t& acknowledged = acks_[epoch];
    acknowledged = std::max(acknowledged, sequence);
    WakeUp();
  }

  void Release(std::shared_ptr<const void> object) override {
    absl::MutexLock lock(&mutex_);
    if (advance_ == nullptr) return;
    released_.push_back(std::move(object));
    WakeUp();
  }

  void End(const absl::Status& status) override {
    absl::MutexLock lock(&mutex_);
    if (HasFailed()) return;
    end_ = status;
    WakeUp();
  }

  // Moves the next response to `response` and sets `has_response`. Without
  // responses, returns the status that ends the stream, if it ends.
  std::optional<absl::Status> Take(bool* has_response,
                                   v1::CollectResponse* response) {
    absl::MutexLock lock(&mutex_);
    *has_response = false;
    if (HasFailed()) return end_;
    if (!responses_.empty()) {
      *response = std::move(responses_.front());
      responses_.pop_front();
    } else if (!acks_.empty()) {
      const auto ack = acks_.begin();
      response->mutable_ack()->set_epoch(ack->first);
      response->mutable_ack()->set_sequence(ack->second);
      acks_.erase(ack);
    } else {
      return end_;
    }
    *has_response = true;
    return std::nullopt;
  }

  // Whether the stream ends with an error, which discards all responses.
  bool has_failed() {
    absl::MutexLock lock(&mutex_);
    return HasFailed();
  }

  // Must be called when the stream is done.
  void Detach() {
    absl::MutexLock lock(&mutex_);
    advance_ = nullptr;
  }

 private:
  bool HasFailed() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return end_.has_value() && !end_->ok();
  }

  void WakeUp() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (advance_ == nullptr || std::exchange(is_posted_, true)) return;
    loop_.Post([self = shared_from_this()] { self->Advance(); });
  }

  void Advance() {
    std::vector<std::shared_ptr<const void>> released;
    std::function<void()> advance;
    {
      absl::MutexLock lock(&mutex_);
      is_posted_ = false;
      released.swap(released_);
      advance = advance_;
    }
    if (advance) advance();
  }

  EventLoop& loop_;
  absl::Mutex mutex_;
  std::function<void()> advance_ ABSL_GUARDED_BY(mutex_);
  std::deque<v1::CollectResponse> responses_ ABSL_GUARDED_BY(mutex_);
  std::map<uint64_t, uint64_t> acks_ ABSL_GUARDED_BY(mutex_);  // by epoch
  std::optional<absl::Status> end_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<const void>> released_ ABSL_GUARDED_BY(mutex_);
  bool is_posted_ ABSL_GUARDED_BY(mutex_) = false;
};

// One agent's stream. All its functions run on the loop's thread. At most one
// read and one write are in flight.
class CollectStream : public RpcStream<AsyncCollectStream> {
 public:
  CollectStream(Ingest* ingest, AsyncCollectService* service, EventLoop* loop)
      : RpcStream(loop),
        ingest_(*ingest),
        service_(*service),
        link_(std::make_shared<Link>(loop, [this] { Advance(); })) {
    service->RequestCollect(&context(), &stream(), &loop->queue(),
                            &loop->queue(), accepted());
  }

 private:
  void OnStart() override {
    new CollectStream(&ingest_, &service_, &loop());
    absl::StatusOr<PeerIdentity> peer = CheckAccess(context(), {Role::kAgent});
    if (!peer.ok()) return link_->End(peer.status());
    peer->not_after = CertificateExpiry(*context().auth_context());
    session_ =
        std::make_shared<Session>(&ingest_, *peer, context().peer(), link_);
    // Without a Hello, there is no reason to hold a message of the stream.
    const absl::Status allowed = session_->CheckBudgets();
    if (!allowed.ok()) return link_->End(allowed);
    StartTimer(kHelloTime);
    StartRead(&request_);
  }

  void OnTimeout() override {
    if (std::exchange(is_pausing_, false)) return Advance();
    link_->End(absl::DeadlineExceededError(absl::StrCat(
        "no Hello arrived within ", absl::FormatDuration(kHelloTime))));
  }

  void OnReadDone(bool ok) override {
    StopTimer();
    if (!ok) return link_->End(absl::OkStatus());
    const absl::Status allowed = session_->AdmitMessage(request_.Length());
    if (!allowed.ok()) return link_->End(allowed);
    is_reading_ = false;
    has_request_ = true;
    Advance();
  }

  void OnWriteDone(bool ok) override {
    is_writing_ = false;
    if (!ok) link_->End(absl::CancelledError("the agent disconnected"));
    Advance();
  }

  void OnCancel() override { link_->End(absl::CancelledError("cancelled")); }

  void OnDone() override {
    link_->Detach();
    if (session_ != nullptr) session_->Close();
  }

  void Advance() {
    if (is_finished_) return;
    if (!is_writing_) WriteNext();
    if (is_finished_ || is_reading_ || is_pausing_ || link_->has_failed()) {
      return;
    }
    if (has_request_) {
      if (!session_->HasRoom()) return PauseFor(kRoomPause);
      if (!HandleRequest()) return;
    }
    // While many batches wait for their acknowledgment, reads pause.
    if (session_->HasManyUnacknowledged()) return;
    const absl::Duration pause = session_->Pause();
    if (pause > kMaxPause) return link_->End(session_->CheckBudgets());
    if (pause > absl::ZeroDuration()) return PauseFor(pause);
    is_reading_ = true;
    StartRead(&request_);
  }

  // Returns false if the stream ends.
  bool HandleRequest() {
    const grpc::Slice message = Join(request_);
    request_.Clear();
    has_request_ = false;
    const absl::Status status = session_->HandleSerialized(
        {reinterpret_cast<const char*>(message.begin()), message.size()});
    if (absl::IsPermissionDenied(status)) ReportDenial(context(), status);
    if (!status.ok()) link_->End(status);
    return status.ok();
  }

  void PauseFor(absl::Duration pause) {
    is_pausing_ = true;
    StartTimer(pause);
  }

  void WriteNext() {
    v1::CollectResponse response;
    const std::optional<absl::Status> end =
        link_->Take(&is_writing_, &response);
    if (is_writing_) {
      const grpc::Slice bytes(response.SerializeAsString());
      response_ = grpc::ByteBuffer(&bytes, 1);
      StartWrite(response_);
    }
    if (!end.has_value()) return;
    is_finished_ = true;
    Finish(RpcFromStatus(*end));
  }

  Ingest& ingest_;
  AsyncCollectService& service_;
  const std::shared_ptr<Link> link_;
  std::shared_ptr<Session> session_;
  grpc::ByteBuffer request_;
  grpc::ByteBuffer response_;  // being written
  bool is_writing_ = false;
  bool is_reading_ = true;    // the first message, from OnStart on
  bool has_request_ = false;  // which is not handled yet
  bool is_pausing_ = false;   // until the timer has run
  bool is_finished_ = false;
};

class CollectionService : public StreamService {
 public:
  explicit CollectionService(Ingest* ingest) : ingest_(ingest) {}

  grpc::Service& service() override { return service_; }

  // Deletes itself when it is done.
  void AcceptOn(EventLoop* loop) override {
    new CollectStream(ingest_, &service_, loop);
  }

 private:
  Ingest* const ingest_;
  AsyncCollectService service_;
};

}  // namespace

std::unique_ptr<StreamService> MakeCollectionService(Ingest* ingest) {
  return std::make_unique<CollectionService>(ingest);
}

}  // namespace fleetperf::aggregator
