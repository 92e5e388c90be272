#include "agent/deliver/uplink.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "agent/deliver/catalogue.h"
#include "base/backoff.h"
#include "base/channel.h"
#include "base/clock.h"
#include "base/logging.h"
#include "base/rpc_error.h"
#include "base/version.h"
#include "base/wakeup.h"
#include "fleetperf/v1/collection.grpc.pb.h"
#include "proto/conversions.h"

namespace fleetperf::agent {
namespace {

constexpr absl::Duration kFirstRetry = absl::Milliseconds(250);
constexpr absl::Duration kLastRetry = absl::Seconds(15);
// How long the end waits for what is in the spool.
constexpr absl::Duration kDrainTime = absl::Seconds(2);
// Until Welcome says how many.
constexpr uint32_t kDefaultUnacknowledged = 8;

}  // namespace

class Uplink::Impl {
 public:
  explicit Impl(Options options)
      : options_(std::move(options)), thread_([this] { Run(); }) {
    options_.delivery->SetBatchListener([this] { SendMore(); });
  }

  ~Impl() {
    options_.delivery->SetBatchListener(nullptr);
    {
      absl::MutexLock lock(&mutex_);
      const auto drained = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        const Spool::Extent extent = options_.delivery->spool().extent();
        return stream_ == nullptr || extent.first > extent.last;
      };
      wakeup_.Await(&mutex_, kDrainTime, drained);
      stopping_ = true;
      if (stream_ != nullptr) stream_->Cancel();
    }
    wakeup_.Notify();
    thread_.join();
  }

 private:
  // One stream. Its callbacks come from gRPC's threads, one at a time for reads
  // and for writes; all state is guarded by the uplink's mutex.
  class Stream : public grpc::ClientBidiReactor<v1::CollectRequest,
                                                v1::CollectResponse> {
   public:
    Stream(Impl* uplink, const std::shared_ptr<grpc::Channel>& channel)
        : uplink_(*uplink), stub_(v1::CollectionService::NewStub(channel)) {
      stub_->async()->Collect(&context_, this);
    }

    void Start() {
      AddHold();  // writes are started from outside callbacks
      StartRead(&response_);
      StartCall();
    }

    void Cancel() { context_.TryCancel(); }

    // Adds a message that goes before all batches.
    void SendControl(v1::CollectRequest request)
        ABSL_EXCLUSIVE_LOCKS_REQUIRED(uplink_.mutex_) {
      control_.push_back(std::move(request));
      SendMore();
    }

    // Starts the next write if there is something to send and none under way.
    void SendMore() ABSL_EXCLUSIVE_LOCKS_REQUIRED(uplink_.mutex_) {
      if (writing_ || closed_) return;
      if (!control_.empty()) {
        request_ = std::move(control_.front());
        control_.pop_front();
      } else if (const auto batch = NextBatch()) {
        sent_ = batch->sequence();
        *request_.mutable_batch() = *batch;
      } else {
        return;
      }
      writing_ = true;
      StartWrite(&request_);
    }

    void OnWriteDone(bool ok) override {
      absl::MutexLock lock(&uplink_.mutex_);
      writing_ = false;
      if (ok) SendMore();
    }

    void OnReadDone(bool ok) override {
      if (!ok) {
        {
          absl::MutexLock lock(&uplink_.mutex_);
          closed_ = true;
        }
        RemoveHold();
        return;
      }
      uplink_.Handle(response_, this);
      StartRead(&response_);
    }

    void OnDone(const grpc::Status& status) override {
      absl::MutexLock lock(&uplink_.mutex_);
      status_ = status;
      done_ = true;
      uplink_.wakeup_.Notify();
    }

    // The rest is guarded by the uplink's mutex, too.

    void Welcome(uint64_t durable, const v1::Limits& limits) {
      welcomed_ = true;
      sent_ = acknowledged_ = durable;
      if (limits.max_unacknowledged_batches() > 0) {
        max_unacknowledged_ = limits.max_unacknowledged_batches();
      }
    }
    void Acknowledge(uint64_t sequence) {
      acknowledged_ = std::max(acknowledged_, sequence);
      // It may be of batches that the stream before sent, and this one not yet.
      sent_ = std::max(sent_, acknowledged_);
      got_through_ = true;
    }
    void Pause(absl::Duration pause) { paused_until_ = Now() + pause; }
    // Of a pause; infinite if there is none.
    absl::Duration pause_left() const {
      return Now() < paused_until_ ? paused_until_ - Now()
                                   : absl::InfiniteDuration();
    }
    bool welcomed() const { return welcomed_; }
    uint64_t acknowledged() const { return acknowledged_; }
    // Whether the aggregator took something.
    bool got_through() const { return got_through_; }
    bool done() const { return done_; }
    const grpc::Status& status() const { return status_; }

   private:
    static absl::Duration Now() { return Clock::Real().Monotonic(); }

    std::shared_ptr<const v1::Batch> NextBatch() {
      if (!welcomed_ || sent_ - acknowledged_ >= max_unacknowledged_ ||
          Now() < paused_until_) {
        return nullptr;
      }
      return uplink_.options_.delivery->spool().Next(sent_);
    }

    Impl& uplink_;
    const std::unique_ptr<v1::CollectionService::Stub> stub_;
    grpc::ClientContext context_;
    v1::CollectRequest request_;    // being written
    v1::CollectResponse response_;  // being read
    std::deque<v1::CollectRequest> control_;
    bool writing_ = false;
    bool closed_ = false;
    bool welcomed_ = false;
    bool got_through_ = false;
    bool done_ = false;
    uint64_t sent_ = 0;
    uint64_t acknowledged_ = 0;
    uint64_t max_unacknowledged_ = kDefaultUnacknowledged;
    absl::Duration paused_until_ = absl::ZeroDuration();
    grpc::Status status_;
  };

  void Run() {
    Backoff backoff(kFirstRetry, kLastRetry);
    size_t attempt = 0;
    while (!IsStopping()) {
      const std::string& address =
          options_.aggregators[attempt++ % options_.aggregators.size()];
      // Not for a welcome alone: what the aggregator refuses, it would refuse
      // again and again.
      const bool got_through = RunStream(address);
      if (got_through) backoff.Reset();
      absl::MutexLock lock(&mutex_);
      wakeup_.Await(
          &mutex_, backoff.Next(),
          [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return stopping_; });
    }
  }

  bool IsStopping() {
    absl::MutexLock lock(&mutex_);
    return stopping_;
  }

  // Runs one stream to its end. Whether the aggregator took something.
  bool RunStream(const std::string& address) {
    Stream stream(this, MakeChannel(address, options_.credentials));
    HashedCatalogue catalogue = options_.catalogue();
    {
      absl::MutexLock lock(&mutex_);
      catalogue_ = std::move(catalogue);
      if (stopping_) return false;
      address_ = address;
      stream_ = &stream;
      stream.SendControl(MakeHello());
    }
    stream.Start();
    while (DoWork(&stream)) {
    }
    options_.delivery->SetLive(false);  // until an aggregator asks again
    absl::MutexLock lock(&mutex_);
    if (!stopping_) LogEnd(stream);
    return stream.got_through();
  }

  // Waits for something to do on this thread and does it. False when the stream
  // has ended.
  bool DoWork(Stream* stream) {
    std::function<void()> work;
    {
      absl::MutexLock lock(&mutex_);
      const auto has_work = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        return stream->done() || !work_.empty();
      };
      wakeup_.Await(&mutex_, stream->pause_left(), has_work);
      if (stream->done()) {
        stream_ = nullptr;
        wakeup_.Notify();  // for who waits until all is sent: it will not be
        work_.clear();
        return false;
      }
      stream->SendMore();  // a pause may be over
      if (work_.empty()) return true;
      work = std::move(work_.front());
      work_.pop_front();
    }
    work();
    return true;
  }

  void LogEnd(const Stream& stream) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const absl::Status status = StatusFromRpc(
        stream.status(), address_,
        stream.welcomed() ? RpcStage::kAnswering : RpcStage::kConnecting);
    const std::string reason =
        status.ok() ? absl::StrCat("the aggregator at ", address_,
                                   " closed the connection")
                    : std::string(status.message());
    log_.Warn(reason, absl::StrCat(reason, "; trying again"));
  }

  v1::CollectRequest MakeHello() {
    v1::CollectRequest request;
    v1::Hello* hello = request.mutable_hello();
    hello->set_agent(options_.agent);
    hello->set_epoch(options_.delivery->epoch());
    v1::HeldEpoch* held = hello->add_held_epochs();
    const Spool::Extent extent = options_.delivery->spool().extent();
    held->set_epoch(options_.delivery->epoch());
    held->set_first_sequence(extent.first);
    held->set_last_sequence(extent.last);
    hello->set_catalogue_hash(catalogue_.hash);
    hello->set_agent_version(kVersion);
    hello->set_operating_system(options_.operating_system);
    hello->mutable_labels()->insert(options_.labels.begin(),
                                    options_.labels.end());
    *hello->mutable_time() = ToProto(absl::Now());
    *hello->mutable_batch_period() = ToProto(options_.delivery->batch_period());
    return request;
  }

  // The spool has a new batch.
  void SendMore() {
    absl::MutexLock lock(&mutex_);
    if (stream_ == nullptr) return;
    // The aggregator has it already if it is of a capture that is played again.
    Settle(stream_->acknowledged());
    stream_->SendMore();
  }

  // Called by the stream with each message.
  void Handle(const v1::CollectResponse& response, Stream* stream) {
    switch (response.message_case()) {
      case v1::CollectResponse::kWelcome:
        return HandleWelcome(response.welcome(), stream);
      case v1::CollectResponse::kAck:
        return HandleAck(response.ack(), stream);
      case v1::CollectResponse::kReject:
        return HandleReject(response.reject(), stream);
      case v1::CollectResponse::kThrottle:
        return HandleThrottle(response.throttle(), stream);
      case v1::CollectResponse::kPlan:
        return Post([this, plan = response.plan()] { ApplyPlan(&plan); });
      case v1::CollectResponse::kEnumerateInstances:
        return Post([this, request = response.enumerate_instances()] {
          Enumerate(request);
        });
      case v1::CollectResponse::kPace:
        return options_.delivery->SetLive(response.pace().live());
      case v1::CollectResponse::MESSAGE_NOT_SET:
        return;  // of a later version
    }
  }

  void HandleWelcome(const v1::Welcome& welcome, Stream* stream) {
    const uint64_t epoch = options_.delivery->epoch();
    uint64_t durable = 0;
    bool dictionary_held = false;
    for (const v1::EpochState& state : welcome.epochs()) {
      if (state.epoch() != epoch) continue;
      durable = state.durable_sequence();
      dictionary_held = state.dictionary_held();
    }
    {
      absl::MutexLock lock(&mutex_);
      spdlog::info("connected to the aggregator at {}", address_);
      stream->Welcome(durable, welcome.limits());
      if (!std::exchange(was_welcomed_, true)) {
        options_.delivery->spool().SetKnown(durable);
      }
      Settle(durable);
      if (welcome.catalogue_wanted()) {
        v1::CollectRequest request;
        *request.mutable_catalogue() = catalogue_.catalogue;
        stream->SendControl(std::move(request));
      }
      if (!dictionary_held) SendDictionary(stream);
      stream->SendMore();
    }
    if (welcome.has_plan()) {
      Post([this, plan = welcome.plan()] { ApplyPlan(&plan); });
    } else {
      Post([this] { ApplyPlan(nullptr); });
    }
  }

  void SendDictionary(Stream* stream) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    std::vector<v1::Definitions> parts = options_.delivery->dictionary().All();
    for (v1::Definitions& part : parts) {
      v1::CollectRequest request;
      v1::Dictionary* dictionary = request.mutable_dictionary();
      dictionary->set_epoch(options_.delivery->epoch());
      dictionary->set_more(&part != &parts.back());
      *dictionary->mutable_definitions() = std::move(part);
      stream->SendControl(std::move(request));
    }
  }

  void HandleAck(const v1::Ack& ack, Stream* stream) {
    if (ack.epoch() != options_.delivery->epoch()) return;
    Settle(ack.sequence());
    absl::MutexLock lock(&mutex_);
    stream->Acknowledge(ack.sequence());
    stream->SendMore();
    wakeup_.Notify();  // for who waits until all is sent
  }

  void HandleReject(const v1::Reject& reject, Stream* stream) {
    if (reject.epoch() != options_.delivery->epoch()) return;
    log_.Warn(absl::StrCat("reject ", reject.reason()),
              absl::StrCat("the aggregator rejected batch ", reject.sequence(),
                           ": ", reject.reason()));
    Spool& spool = options_.delivery->spool();
    spool.Reject(reject.sequence());
    absl::MutexLock lock(&mutex_);
    // It counts as acknowledged, once all before it are.
    stream->Acknowledge(spool.extent().first - 1);
    stream->SendMore();
    wakeup_.Notify();  // for who waits until all is sent
  }

  void HandleThrottle(const v1::Throttle& throttle, Stream* stream) {
    const absl::Duration pause = FromProto(throttle.pause());
    log_.Warn("throttle", absl::StrCat("the aggregator asks to pause for ",
                                       absl::FormatDuration(pause), ": ",
                                       throttle.reason()));
    absl::MutexLock lock(&mutex_);
    stream->Pause(pause);
    work_.push_back([] {});  // after which the thread waits so long
    wakeup_.Notify();
  }

  void Settle(uint64_t sequence) {
    options_.delivery->spool().Acknowledge(sequence);
    options_.delivery->dictionary().Settle(sequence);
  }

  // Has the uplink's thread do what may take long.
  void Post(std::function<void()> work) {
    absl::MutexLock lock(&mutex_);
    work_.push_back(std::move(work));
    wakeup_.Notify();
  }

  void Send(v1::CollectRequest request) {
    absl::MutexLock lock(&mutex_);
    if (stream_ != nullptr) stream_->SendControl(std::move(request));
  }

  void ApplyPlan(const v1::Plan* plan) {
    v1::CollectRequest request;
    *request.mutable_plan_report() = options_.apply_plan(plan);
    Send(std::move(request));
  }

  void Enumerate(const v1::EnumerateInstances& question) {
    v1::CollectRequest request;
    v1::InstanceList* answer = request.mutable_instance_list();
    answer->set_request_id(question.request_id());
    const auto counterset = perflib::GuidFromBytes(question.counterset());
    const auto instances =
        counterset.has_value()
            ? options_.enumerate_instances(question.machine(), *counterset)
            : absl::InvalidArgumentError("counterset is not a GUID");
    if (!instances.ok()) {
      answer->set_error(std::string(instances.status().message()));
    } else {
      for (const perflib::InstanceName& instance : *instances) {
        v1::InstanceList::Instance* to = answer->add_instances();
        to->set_name(instance.name);
        to->set_instance_id(instance.instance_id);
      }
    }
    Send(std::move(request));
  }

  const Options options_;
  LogOncePerCause log_;
  absl::Mutex mutex_;
  Wakeup wakeup_;
  std::string address_ ABSL_GUARDED_BY(mutex_);
  HashedCatalogue catalogue_ ABSL_GUARDED_BY(mutex_);  // of the stream
  Stream* stream_ ABSL_GUARDED_BY(mutex_) = nullptr;
  bool was_welcomed_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<std::function<void()>> work_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

Uplink::Uplink(Options options)
    : impl_(std::make_unique<Impl>(std::move(options))) {}

Uplink::~Uplink() = default;

}  // namespace fleetperf::agent
