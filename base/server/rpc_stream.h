// A streaming call on an EventLoop.
//
// Invariants:
// - At most one operation of each kind (read, write) is in flight.
// - The object deletes itself on the loop's thread once the call has ended,
//   its status is sent and no operation is in flight.

#ifndef FLEETPERF_BASE_SERVER_RPC_STREAM_H_
#define FLEETPERF_BASE_SERVER_RPC_STREAM_H_

#include <grpcpp/alarm.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/async_stream.h>
#include <grpcpp/support/status.h>

#include <atomic>
#include <optional>

#include "absl/time/time.h"
#include "base/rpc/rpc_deadline.h"
#include "base/server/event_loop.h"

namespace fleetperf {

// `AsyncStream` is a grpc::ServerAsyncReaderWriter or ServerAsyncWriter.
//
// A subclass's constructor requests a call from its service, with accepted() as
// the tag. OnStart is called once a call has arrived. If the server shuts down
// first, the object is deleted.
//
// Thread-compatible: virtual functions are called by the loop's thread, one at
// a time. StartRead, StartWrite and Finish may be called by any thread, see
// below.
template <typename AsyncStream>
class RpcStream {
 public:
  RpcStream(const RpcStream&) = delete;
  RpcStream& operator=(const RpcStream&) = delete;

 protected:
  // `loop` must outlive the stream.
  explicit RpcStream(EventLoop* loop) : loop_(*loop) {
    loop_.AddStream();
    context_.AsyncNotifyWhenDone(&ended_);
  }
  virtual ~RpcStream() { loop_.RemoveStream(); }

  EventLoop& loop() { return loop_; }
  grpc::ServerContext& context() { return context_; }
  AsyncStream& stream() { return stream_; }
  EventLoop::Event* accepted() { return &accepted_; }

  // StartRead and StartWrite may be called by any thread, while no operation of
  // the same kind is in flight, and not after Finish. The message must stay
  // valid until the operation is done. Finish must be called exactly once, by
  // any thread, also after OnCancel.
  template <typename Request>
  void StartRead(Request* request) {
    ++in_flight_;
    stream_.Read(request, &read_);
  }
  template <typename Response>
  void StartWrite(const Response& response) {
    ++in_flight_;
    stream_.Write(response, &written_);
  }
  void Finish(const grpc::Status& status) {
    stream_.Finish(status, &finished_);
  }

  // Has the loop's thread call OnTimeout after `delay`, unless StopTimer or
  // StartTimer is called before or the call ends. Only the loop's thread may
  // call both.
  void StartTimer(absl::Duration delay) {
    if (has_ended_) return;
    timeout_ = RpcDeadline(delay);
    if (is_timer_set_) {
      // HandleExpired sets it again.
      is_timer_stale_ = true;
      timer_.Cancel();
    } else {
      SetTimer();
    }
  }
  void StopTimer() {
    timeout_.reset();
    if (is_timer_set_) timer_.Cancel();
  }

  virtual void OnStart() = 0;
  // The time of StartTimer is over.
  virtual void OnTimeout() {}
  // If not `ok`, the client sends no further messages.
  virtual void OnReadDone(bool /*ok*/) {}
  // If not `ok`, the call is broken.
  virtual void OnWriteDone(bool ok) = 0;
  // The call was cancelled or its connection was lost.
  virtual void OnCancel() = 0;
  // No operation is in flight any more. The object is deleted next.
  virtual void OnDone() {}

 private:
  // Forwards the completion of an operation to a member function.
  template <void (RpcStream::*kHandle)(bool ok)>
  class Forwarder final : public EventLoop::Event {
   public:
    explicit Forwarder(RpcStream* stream) : stream_(*stream) {}
    void OnCompleted(bool ok) override { (stream_.*kHandle)(ok); }

   private:
    RpcStream& stream_;
  };

  void HandleAccepted(bool ok) {
    if (!ok) {
      delete this;
    } else {
      loop_.NoteCall(context_.peer());
      OnStart();
    }
  }
  void HandleRead(bool ok) {
    OnReadDone(ok);
    CompleteOne();
  }
  void HandleWritten(bool ok) {
    OnWriteDone(ok);
    CompleteOne();
  }
  void SetTimer() {
    ++in_flight_;
    is_timer_set_ = true;
    is_timer_stale_ = false;
    timer_.Set(&loop_.queue(), *timeout_, &expired_);
  }
  // A timer that had run before it was cancelled completes like one in time, so
  // the event does not tell whether the timeout still applies.
  void HandleExpired(bool) {
    is_timer_set_ = false;
    if (timeout_.has_value() && is_timer_stale_) {
      SetTimer();
    } else if (timeout_.has_value()) {
      timeout_.reset();
      OnTimeout();
    }
    CompleteOne();
  }
  void HandleEnded(bool) {
    has_ended_ = true;
    StopTimer();
    if (context_.IsCancelled()) OnCancel();
    CompleteOne();
  }
  void HandleFinished(bool) { CompleteOne(); }

  // Deletes the object after its last operation.
  void CompleteOne() {
    if (--in_flight_ > 0) return;
    OnDone();
    delete this;
  }

  EventLoop& loop_;
  grpc::ServerContext context_;
  AsyncStream stream_{&context_};
  // Operations in flight. Each of ended_ and finished_ completes once.
  std::atomic<int> in_flight_ = 2;
  Forwarder<&RpcStream::HandleAccepted> accepted_{this};
  Forwarder<&RpcStream::HandleRead> read_{this};
  Forwarder<&RpcStream::HandleWritten> written_{this};
  Forwarder<&RpcStream::HandleEnded> ended_{this};
  Forwarder<&RpcStream::HandleFinished> finished_{this};
  Forwarder<&RpcStream::HandleExpired> expired_{this};
  grpc::Alarm timer_;
  bool is_timer_set_ = false;            // the event is still to come
  bool is_timer_stale_ = false;          // it is set to an earlier timeout
  std::optional<gpr_timespec> timeout_;  // nullopt: stopped
  bool has_ended_ = false;               // the call
};

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_SERVER_RPC_STREAM_H_
