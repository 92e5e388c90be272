#include "agent/deliver/uplink.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <spdlog/spdlog.h>

#include <deque>
#include <functional>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "base/backoff.h"
#include "base/channel.h"
#include "base/logging.h"
#include "base/rpc_error.h"
#include "base/wakeup.h"
#include "fleetperf/v1/collection.grpc.pb.h"

namespace fleetperf::agent {
namespace {

constexpr absl::Duration kFirstRetry = absl::Milliseconds(250);
constexpr absl::Duration kLastRetry = absl::Seconds(15);
// How long the end waits for what is in the spool.
constexpr absl::Duration kDrainTime = absl::Seconds(2);

}  // namespace

class Uplink::Impl {
 public:
  explicit Impl(Options options)
      : options_(std::move(options)), thread_([this] { Run(); }) {
    // Called where ticks are taken, which must not wait for the spool's disk.
    delivery().SetBatchListener([this] {
      absl::MutexLock lock(&mutex_);
      LetThreadSend();
    });
  }

  ~Impl() {
    delivery().SetBatchListener(nullptr);
    {
      absl::MutexLock lock(&mutex_);
      const auto drained = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        return stream_ == nullptr || stream_->conversation().is_settled();
      };
      wakeup_.Await(&mutex_, kDrainTime, drained);
      stopping_ = true;
      if (stream_ != nullptr) stream_->Cancel();
    }
    wakeup_.Notify();
    thread_.join();
  }

 private:
  // Carries a conversation. Its callbacks come from gRPC's threads, one at a
  // time for reads and for writes; its state is guarded by the uplink's mutex.
  // Callbacks do only what needs nothing but memory: all streams of a process
  // depend on gRPC's threads. The rest is the uplink's thread's.
  class Stream : public grpc::ClientBidiReactor<v1::CollectRequest,
                                                v1::CollectResponse> {
   public:
    Stream(Impl* uplink, const std::shared_ptr<grpc::Channel>& channel)
        : uplink_(*uplink),
          conversation_(&uplink->options_.agent),
          stub_(v1::CollectionService::NewStub(channel)) {
      stub_->async()->Collect(&context_, this);
    }

    Conversation& conversation() { return conversation_; }

    void Start() {
      AddHold();  // writes are started from outside callbacks
      StartRead(&response_);
      StartCall();
    }

    void Cancel() { context_.TryCancel(); }

    // Where batches are looked for.
    enum class Source { kMemory, kMemoryAndFile };

    // Starts the next write if there is something to send and none under way.
    // Called by the uplink's thread, and in callbacks, which must not wait for
    // the file: the stream stays.
    void SendMore(Source source) ABSL_LOCKS_EXCLUDED(uplink_.mutex_) {
      {
        absl::MutexLock lock(&uplink_.mutex_);
        has_more_ = true;
        if (std::exchange(writing_, true)) return;
      }
      WriteMore(source);
    }

    void OnWriteDone(bool ok) override {
      if (ok) WriteMore(Source::kMemory);
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
      uplink_.Receive(std::exchange(response_, {}), this);
      StartRead(&response_);
    }

    void OnDone(const grpc::Status& status) override {
      absl::MutexLock lock(&uplink_.mutex_);
      status_ = status;
      done_ = true;
      uplink_.wakeup_.Notify();
    }

    // Guarded by the uplink's mutex, too.
    bool done() const { return done_; }
    const grpc::Status& status() const { return status_; }

   private:
    // Only where `writing_` was set.
    void WriteMore(Source source) ABSL_LOCKS_EXCLUDED(uplink_.mutex_) {
      for (;;) {
        {
          absl::MutexLock lock(&uplink_.mutex_);
          has_more_ = false;
        }
        bool must_read = false;
        std::optional<v1::CollectRequest> next =
            source == Source::kMemory ? conversation_.NextFromMemory(&must_read)
                                      : conversation_.Next();
        absl::MutexLock lock(&uplink_.mutex_);
        if (closed_) return;
        if (next.has_value()) {
          request_ = *std::move(next);
          StartWrite(&request_);
          return;
        }
        if (conversation_.must_begin_anew()) Cancel();
        if (must_read) uplink_.LetThreadSend();
        if (has_more_) continue;
        writing_ = false;
        return;
      }
    }

    Impl& uplink_;
    Conversation conversation_;
    const std::unique_ptr<v1::CollectionService::Stub> stub_;
    grpc::ClientContext context_;
    v1::CollectRequest request_;    // being written
    v1::CollectResponse response_;  // being read
    bool writing_ = false;          // or about to
    bool has_more_ = false;         // since it was looked for
    bool closed_ = false;
    bool done_ = false;
    grpc::Status status_;
  };

  Delivery& delivery() { return *options_.agent.delivery; }

  void Run() {
    Backoff backoff(kFirstRetry, kLastRetry);
    size_t attempt = 0;
    while (!IsStopping()) {
      const std::string& address =
          options_.aggregators[attempt++ % options_.aggregators.size()];
      const End end = RunStream(address);
      // Not for a welcome alone: what the aggregator refuses, it would refuse
      // again and again.
      if (end.got_through) {
        backoff.Reset();
        attempt = 0;
      }
      if (end.is_asked_to_return) continue;
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

  // How a stream ended.
  struct End {
    bool got_through = false;
    // The aggregator closed it in order: so that load spreads.
    bool is_asked_to_return = false;
  };

  // Runs one stream to its end.
  End RunStream(const std::string& address) {
    Stream stream(
        this, MakeChannel(address, options_.credentials, Receives::kLittle));
    {
      absl::MutexLock lock(&mutex_);
      if (stopping_) return {};
      address_ = address;
      stream_ = &stream;
    }
    stream.Start();
    stream.SendMore(Stream::Source::kMemory);  // Hello
    while (DoWork(&stream)) {
    }
    delivery().SetLive(false);  // until an aggregator asks again
    if (options_.counts != nullptr) options_.counts->connected = 0;
    options_.agent.on_disconnect();
    absl::MutexLock lock(&mutex_);
    const bool got_through = stream.conversation().got_through();
    const bool is_asked_to_return = got_through && stream.status().ok();
    if (!stopping_ && !is_asked_to_return) LogEnd(stream);
    return {.got_through = got_through,
            .is_asked_to_return = is_asked_to_return};
  }

  // Waits for something to do on this thread and does it. False when the stream
  // has ended.
  bool DoWork(Stream* stream) {
    std::optional<v1::CollectResponse> response;
    {
      absl::MutexLock lock(&mutex_);
      const auto has_work = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        return stream->done() || !received_.empty() || has_more_;
      };
      wakeup_.Await(&mutex_, stream->conversation().pause_left(), has_work);
      has_more_ = false;
      if (stream->done()) {
        stream_ = nullptr;
        wakeup_.Notify();  // for who waits until all is sent: it will not be
        received_.clear();
        return false;
      }
      if (!received_.empty()) {
        response = std::move(received_.front());
        received_.pop_front();
      }
    }
    if (response.has_value()) Handle(*response, stream);
    // Also if a pause is over.
    stream->SendMore(Stream::Source::kMemoryAndFile);
    return true;
  }

  void Handle(const v1::CollectResponse& response, Stream* stream) {
    Conversation& conversation = stream->conversation();
    const Conversation::Work work = conversation.Handle(response);
    if (conversation.must_begin_anew()) stream->Cancel();
    if (work == nullptr) return;
    // What a Welcome allows to be sent does not wait for the work.
    stream->SendMore(Stream::Source::kMemoryAndFile);
    conversation.Say(work());
  }

  void LetThreadSend() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    has_more_ = true;
    wakeup_.Notify();
  }

  void LogEnd(Stream& stream) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (stream.conversation().must_begin_anew()) return;  // has said why
    const absl::Status status = StatusFromRpc(stream.status(), address_,
                                              stream.conversation().is_welcome()
                                                  ? RpcStage::kAnswering
                                                  : RpcStage::kConnecting);
    const std::string reason =
        status.ok() ? absl::StrCat("the aggregator at ", address_,
                                   " closed the connection")
                    : std::string(status.message());
    log_.Warn(reason, absl::StrCat(reason, "; trying again"));
  }

  // Called by the stream with each message, in a callback.
  void Receive(v1::CollectResponse response, Stream* stream) {
    const bool takes_long = Conversation::TakesLong(response);
    if (response.has_pace()) {
      delivery().SetLiveFromNextTick(response.pace().live());
    }
    if (!takes_long) {
      stream->conversation().Handle(response);
      stream->SendMore(Stream::Source::kMemory);
    }
    absl::MutexLock lock(&mutex_);
    Count(response);
    if (response.has_welcome()) {
      spdlog::info("connected to the aggregator at {}", address_);
    }
    has_more_ = has_more_ || response.has_throttle();  // to wait as long
    if (takes_long) received_.push_back(std::move(response));
    wakeup_.Notify();
  }

  void Count(const v1::CollectResponse& response) {
    if (options_.counts == nullptr) return;
    if (response.has_welcome()) {
      options_.counts->connected = 1;
      ++options_.counts->connections;
    }
    if (response.has_throttle()) ++options_.counts->pauses;
  }

  const Options options_;
  LogOncePerCause log_;
  absl::Mutex mutex_;
  Wakeup wakeup_{options_.agent.clock};
  std::string address_ ABSL_GUARDED_BY(mutex_);
  Stream* stream_ ABSL_GUARDED_BY(mutex_) = nullptr;
  // Messages that may take long; for the thread.
  std::deque<v1::CollectResponse> received_ ABSL_GUARDED_BY(mutex_);
  // The thread must look what there is to send, and how long a pause is.
  bool has_more_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

Uplink::Uplink(Options options)
    : impl_(std::make_unique<Impl>(std::move(options))) {}

Uplink::~Uplink() = default;

}  // namespace fleetperf::agent
