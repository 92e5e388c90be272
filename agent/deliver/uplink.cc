#include "agent/deliver/uplink.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "base/backoff.h"
#include "base/log.h"
#include "base/logging.h"
#include "base/os/descriptor_reserve.h"
#include "base/rpc/channel.h"
#include "base/rpc/rpc_error.h"
#include "base/wakeup.h"
#include "fleetperf/v1/collection.grpc.pb.h"

namespace fleetperf::agent {
namespace {

constexpr absl::Duration kFirstRetry = absl::Milliseconds(250);
constexpr absl::Duration kMaxRetry = absl::Seconds(15);
// The number of refused attempts in a row after which on_refused is called: a
// single one may come from an aggregator that is being stopped.
constexpr int kRefusalsToReport = 3;
// The interval of looks for a changed report of the plan and for a renewed
// certificate.
constexpr absl::Duration kLookInterval = absl::Seconds(10);
// The interval of looks for progress. Looks are counted, because the process
// may be stopped or its machine be suspended for any time.
constexpr absl::Duration kWatchInterval = absl::Seconds(12);
// For a connection: its socket, those and the files of name resolution, and
// certificates.
constexpr size_t kReservedDescriptors = 8;
// The limits of messages that may block and of those that wait for the uplink's
// thread, as they are in memory. An aggregator's largest plan takes about 2
// MiB.
constexpr size_t kMaxMessageMemory = 4 << 20;
constexpr size_t kMaxWaitingMemory = 8 << 20;
// The time that Disconnect waits for the spool to be sent.
constexpr absl::Duration kDrainTime = absl::Seconds(2);

}  // namespace

class Uplink::Impl {
 public:
  explicit Impl(Options options) : options_(std::move(options)) {
    // The listener runs on threads that take ticks, which must not wait for the
    // spool's file.
    delivery().SetBatchListener([this] {
      absl::MutexLock lock(&mutex_);
      LetThreadSend();
    });
  }

  ~Impl() {
    delivery().SetBatchListener(nullptr);
    Disconnect();
    {
      absl::MutexLock lock(&mutex_);
      stopping_ = true;
      wakeup_.Notify();
      stopped_.Notify();
    }
    if (thread_.joinable()) thread_.join();
    if (watchdog_.joinable()) watchdog_.join();
  }

  // If a thread does not start, the destructor ends the other one.
  void Start() {
    watchdog_ = std::thread([this] { Watch(); });
    thread_ = std::thread([this] { Run(); });
  }

  void Disconnect() {
    absl::MutexLock lock(&mutex_);
    const auto drained = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return stream_ == nullptr || stream_->conversation().is_settled();
    };
    wakeup_.Await(&mutex_, kDrainTime, drained);
    disconnecting_ = true;
    if (stream_ != nullptr) stream_->Cancel();
    wakeup_.Notify();
    wakeup_.Await(&mutex_, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return is_idle_;
    });
  }

  void Connect(std::vector<std::string> aggregators,
               std::map<std::string, std::string> labels) {
    absl::MutexLock lock(&mutex_);
    options_.aggregators = std::move(aggregators);
    options_.agent.labels = std::move(labels);
    disconnecting_ = false;
    wakeup_.Notify();
  }

 private:
  // Transports a conversation. Callbacks run on gRPC's threads, one at a time
  // for reads and for writes. The uplink's mutex guards the state. Callbacks
  // never block on the spool's files, because all streams of a process depend
  // on gRPC's threads. The uplink's thread does all work that may block.
  class Stream : public grpc::ClientBidiReactor<v1::CollectRequest,
                                                v1::CollectResponse> {
   public:
    Stream(Impl* uplink, const std::shared_ptr<grpc::Channel>& channel)
        : uplink_(*uplink),
          conversation_(&uplink->options_.agent, &uplink->log_),
          stub_(v1::CollectionService::NewStub(channel)) {
      stub_->async()->Collect(&context_, this);
    }

    Conversation& conversation() { return conversation_; }

    void Start() {
      AddHold();  // writes start outside of callbacks
      StartRead(&response_);
      StartCall();
    }

    void Cancel() {
      is_cancelled_ = true;
      context_.TryCancel();
    }
    bool is_cancelled() const { return is_cancelled_; }
    // Whether gRPC must report an event in a bounded time: it connects, or ends
    // the stream. Otherwise, the aggregator may be silent for any time, such as
    // while its disk is full.
    bool MustMakeProgress() const {
      return is_cancelled_ || !conversation_.is_welcome();
    }

    // The places that may be searched for batches.
    enum class Source { kMemory, kMemoryAndFile };

    // Starts the next write if a message is ready and no write is in progress.
    // Called on the uplink's thread with any source, and in callbacks with
    // kMemory, because these must not wait for the file. The stream outlives
    // the call.
    void SendMore(Source source) ABSL_LOCKS_EXCLUDED(uplink_.mutex_) {
      {
        absl::MutexLock lock(&uplink_.mutex_);
        has_more_ = true;
        if (std::exchange(writing_, true)) return;
      }
      WriteMore(source);
    }

    void OnWriteDone(bool ok) override {
      uplink_.NoteProgress();
      if (ok) WriteMore(Source::kMemory);
    }

    void OnReadDone(bool ok) override {
      uplink_.NoteProgress();
      if (!ok) {
        {
          absl::MutexLock lock(&uplink_.mutex_);
          closed_ = true;
        }
        RemoveHold();
        return;
      }
      if (uplink_.Receive(std::exchange(response_, {}), this)) ReadNext();
    }
    void ReadNext() { StartRead(&response_); }

    void OnDone(const grpc::Status& status) override {
      uplink_.NoteProgress();
      absl::MutexLock lock(&uplink_.mutex_);
      status_ = status;
      done_ = true;
      uplink_.wakeup_.Notify();
    }

    // Guarded by the uplink's mutex, too.
    bool done() const { return done_; }
    const grpc::Status& status() const { return status_; }

   private:
    // Requires that the caller has set `writing_`.
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
        if (conversation_.must_reconnect()) Cancel();
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
    bool writing_ = false;          // a write is in progress or being prepared
    bool has_more_ = false;         // more may be ready since the last look
    bool closed_ = false;
    bool done_ = false;
    std::atomic<bool> is_cancelled_ = false;
    grpc::Status status_;
  };

  Delivery& delivery() { return *options_.agent.delivery; }

  void Run() {
    while (AwaitConnect()) {
      RunStreams();
      absl::MutexLock lock(&mutex_);
      is_idle_ = true;
      wakeup_.Notify();
    }
  }

  // Waits while the uplink is disconnected. Returns false if it stops.
  bool AwaitConnect() {
    absl::MutexLock lock(&mutex_);
    wakeup_.Await(&mutex_, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return stopping_ || !disconnecting_;
    });
    is_idle_ = stopping_;
    return !stopping_;
  }

  // Runs one stream after the other until the uplink is to disconnect.
  void RunStreams() {
    Backoff backoff(kFirstRetry, kMaxRetry);
    size_t attempt = 0;
    int refusals = 0;  // in a row
    while (!IsDisconnecting()) {
      NoteProgress();
      const std::string& address =
          options_.aggregators[attempt++ % options_.aggregators.size()];
      reserve_.Release();
      const End end = RunStream(address);
      reserve_.Take();
      refusals = end.refusal.ok() ? 0 : refusals + 1;
      if (refusals == kRefusalsToReport && options_.on_refused) {
        options_.on_refused(end.refusal);
      }
      // A welcome alone does not reset the backoff: an aggregator that rejects
      // the stream afterwards would do so on every attempt.
      if (end.got_through) {
        backoff.Reset();
        attempt = 0;
      }
      // Another aggregator would accept both agents of this name.
      if (end.is_name_taken) --attempt;
      if (!end.got_through && !IsDisconnecting() &&
          options_.counts != nullptr) {
        ++options_.counts->failed_attempts;
      }
      if (end.is_asked_to_return) continue;
      absl::MutexLock lock(&mutex_);
      wakeup_.Await(&mutex_, backoff.Next(),
                    [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
                      return disconnecting_;
                    });
    }
  }

  // Calls on_stuck if no thread notes progress for kStuckTime.
  void Watch() {
    const int64_t looks = kStuckTime / kWatchInterval;
    absl::MutexLock lock(&mutex_);
    const auto is_stopping = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return stopping_;
    };
    while (!stopped_.Await(&mutex_, kWatchInterval, is_stopping)) {
      if (++looks_without_progress_ != looks) continue;
      LogError("no progress of the connection to the aggregator at ", address_,
               " for ", absl::FormatDuration(kStuckTime),
               "; see ulimit -u, ulimit -n and the service's TasksMax=");
      if (options_.on_stuck) options_.on_stuck();
    }
  }

  void NoteProgress() { looks_without_progress_ = 0; }

  bool IsDisconnecting() {
    absl::MutexLock lock(&mutex_);
    return disconnecting_;
  }

  // The way in which a stream ended.
  struct End {
    bool got_through = false;
    // The aggregator closed the stream in order, to spread load: reconnect at
    // once.
    bool is_asked_to_return = false;
    // Another agent of this name is connected.
    bool is_name_taken = false;
    // Not OK if a certificate or a missing right is the cause.
    absl::Status refusal = absl::OkStatus();
  };

  // Runs one stream to its end.
  End RunStream(const std::string& address) {
    options_.renew_certificate();
    Stream stream(this, MakeChannel(address, options_.credentials(),
                                    ReceiveVolume::kLow));
    {
      absl::MutexLock lock(&mutex_);
      if (disconnecting_) return {};
      address_ = address;
      stream_ = &stream;
    }
    stream.Start();
    stream.SendMore(Stream::Source::kMemory);  // Hello
    while (DoWork(&stream)) {
    }
    delivery().SetLive(false);  // until an aggregator requests it again
    if (options_.counts != nullptr) options_.counts->connected = 0;
    options_.agent.on_disconnect();
    absl::MutexLock lock(&mutex_);
    const bool got_through = stream.conversation().got_through();
    const bool is_asked_to_return = got_through && stream.status().ok();
    if (!disconnecting_ && !is_asked_to_return) LogEnd(stream);
    const bool is_refused =
        IsRefusal(stream.status(), StageOf(stream)) && !disconnecting_;
    return {.got_through = got_through,
            .is_asked_to_return = is_asked_to_return,
            .is_name_taken = StageOf(stream) == RpcStage::kConnecting &&
                             stream.status().error_code() ==
                                 grpc::StatusCode::ALREADY_EXISTS,
            .refusal = is_refused ? ReasonOf(stream) : absl::OkStatus()};
  }

  // Waits for work on this thread and does it. Returns false once the stream
  // has ended.
  bool DoWork(Stream* stream) {
    std::optional<v1::CollectResponse> response;
    bool must_read = false;
    {
      absl::MutexLock lock(&mutex_);
      const auto has_work = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        return stream->done() || !received_.empty() || has_more_;
      };
      wakeup_.Await(&mutex_,
                    std::min(stream->conversation().pause_left(), LookWait()),
                    has_work);
      has_more_ = false;
      if (stream->done()) {
        stream_ = nullptr;
        wakeup_.Notify();  // nothing more is sent: wakes Disconnect
        ClearReceived();
        return false;
      }
      if (stream->is_cancelled()) ClearReceived();
      if (!received_.empty()) {
        response = std::move(received_.front().response);
        waiting_memory_ -= received_.front().memory;
        received_.pop_front();
      }
      must_read = waiting_memory_ < kMaxWaitingMemory &&
                  std::exchange(is_reading_paused_, false);
    }
    if (must_read) stream->ReadNext();
    if (response.has_value()) Handle(*response, stream);
    if (!stream->MustMakeProgress()) {
      NoteProgress();
      reserve_.Take();
    }
    LookForChanges(&stream->conversation());
    // Also sends the batches that waited for the end of a pause.
    stream->SendMore(Stream::Source::kMemoryAndFile);
    return true;
  }

  void Handle(const v1::CollectResponse& response, Stream* stream) {
    Conversation& conversation = stream->conversation();
    const Conversation::Work work = conversation.Handle(response);
    if (conversation.must_reconnect()) stream->Cancel();
    if (work == nullptr) return;
    // Batches allowed by a Welcome are sent before the work starts.
    stream->SendMore(Stream::Source::kMemoryAndFile);
    conversation.Say(work());
  }

  absl::Duration LookWait() const {
    return next_look_ - options_.agent.clock->Monotonic();
  }

  // A provider may fail, or work again, long after its plan was applied.
  void LookForChanges(Conversation* conversation) {
    if (LookWait() > absl::ZeroDuration()) return;
    next_look_ = options_.agent.clock->Monotonic() + kLookInterval;
    options_.renew_certificate();
    if (!conversation->is_welcome()) return;
    const auto report = options_.agent.changed_report();
    if (!report.has_value()) return;
    v1::CollectRequest request;
    *request.mutable_plan_report() = *report;
    conversation->Say(std::move(request));
  }

  void LetThreadSend() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    has_more_ = true;
    wakeup_.Notify();
  }

  static RpcStage StageOf(Stream& stream) {
    return stream.conversation().is_welcome() ? RpcStage::kAnswering
                                              : RpcStage::kConnecting;
  }

  // Returns why the stream ended.
  absl::Status ReasonOf(Stream& stream) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return StatusFromRpc(stream.status(), address_, StageOf(stream));
  }

  void LogEnd(Stream& stream) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (stream.is_cancelled() || stream.conversation().must_reconnect()) {
      return;  // the reason has been logged
    }
    const absl::Status status = ReasonOf(stream);
    const std::string reason =
        status.ok() ? absl::StrCat("the aggregator at ", address_,
                                   " closed the connection")
                    : std::string(status.message());
    log_.Warn(reason, absl::StrCat(reason, "; trying again"));
  }

  // Called by the stream for each message, in a callback. Returns false if the
  // uplink's thread must first handle messages, and then starts the next read.
  bool Receive(v1::CollectResponse response, Stream* stream) {
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
      LogInfo("connected to the aggregator at ", address_);
    }
    has_more_ = has_more_ || response.has_throttle();  // to recompute the wait
    if (takes_long) Enqueue(std::move(response), stream);
    wakeup_.Notify();
    return !is_reading_paused_;
  }

  void Enqueue(v1::CollectResponse response, Stream* stream)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const size_t memory = response.SpaceUsedLong();
    if (memory > kMaxMessageMemory) {
      log_.Warn("memory",
                absl::StrCat("the aggregator at ", address_,
                             " sent a message that takes ", memory,
                             " bytes of memory; the limit is ",
                             kMaxMessageMemory, "; connecting again"));
      return stream->Cancel();
    }
    received_.push_back({std::move(response), memory});
    waiting_memory_ += memory;
    is_reading_paused_ = waiting_memory_ >= kMaxWaitingMemory;
  }

  void ClearReceived() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    received_.clear();
    waiting_memory_ = 0;
  }

  void Count(const v1::CollectResponse& response) {
    if (options_.counts == nullptr) return;
    if (response.has_welcome()) {
      options_.counts->connected = 1;
      ++options_.counts->connections;
    }
    if (response.has_throttle()) ++options_.counts->pauses;
  }

  // Connect changes parts of them, while the uplink's thread waits.
  Options options_;
  LogOncePerCause log_;  // of all streams
  absl::Mutex mutex_;
  Wakeup wakeup_{options_.agent.clock};
  Wakeup stopped_{options_.agent.clock};  // of stopping_, for the watchdog
  std::string address_ ABSL_GUARDED_BY(mutex_);
  Stream* stream_ ABSL_GUARDED_BY(mutex_) = nullptr;
  // Messages that may block, for the uplink's thread.
  struct Waiting {
    v1::CollectResponse response;
    size_t memory;
  };
  std::deque<Waiting> received_ ABSL_GUARDED_BY(mutex_);
  size_t waiting_memory_ ABSL_GUARDED_BY(mutex_) = 0;  // of all in received_
  // No read is in progress, until enough of them are handled.
  bool is_reading_paused_ ABSL_GUARDED_BY(mutex_) = false;
  // Tells the thread to look for messages to send and to recompute the pause.
  bool has_more_ ABSL_GUARDED_BY(mutex_) = false;
  bool disconnecting_ ABSL_GUARDED_BY(mutex_) = false;  // until Connect
  bool is_idle_ ABSL_GUARDED_BY(mutex_) = true;  // the thread waits for Connect
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::atomic<int64_t> looks_without_progress_ = 0;
  // Used by the uplink's thread only.
  DescriptorReserve reserve_{kReservedDescriptors};
  absl::Duration next_look_ = options_.agent.clock->Monotonic();
  std::thread watchdog_;
  std::thread thread_;
};

Uplink::Uplink(Options options)
    : impl_(std::make_unique<Impl>(std::move(options))) {
  impl_->Start();
}

Uplink::~Uplink() = default;

void Uplink::Disconnect() { impl_->Disconnect(); }

void Uplink::Connect(std::vector<std::string> aggregators,
                     std::map<std::string, std::string> labels) {
  impl_->Connect(std::move(aggregators), std::move(labels));
}

}  // namespace fleetperf::agent
