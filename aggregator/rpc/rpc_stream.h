// A call that streams, on an EventLoop.

#ifndef FLEETPERF_AGGREGATOR_RPC_RPC_STREAM_H_
#define FLEETPERF_AGGREGATOR_RPC_RPC_STREAM_H_

#include <grpcpp/completion_queue.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/async_stream.h>
#include <grpcpp/support/status.h>

#include <atomic>

#include "aggregator/rpc/event_loop.h"

namespace fleetperf::aggregator {

// `AsyncStream` is a grpc::ServerAsyncReaderWriter or ServerAsyncWriter.
//
// A subclass's constructor asks its service for a call, with accepted() as the
// tag. When one has come, OnStart is called; if the server is shut down before,
// the object is deleted. All that is virtual is called by the loop's thread.
template <typename AsyncStream>
class RpcStream {
 public:
  RpcStream(const RpcStream&) = delete;
  RpcStream& operator=(const RpcStream&) = delete;

 protected:
  // `loop` outlives this.
  explicit RpcStream(EventLoop* loop) : loop_(*loop) {
    loop_.AddStream();
    context_.AsyncNotifyWhenDone(&ended_);
  }
  virtual ~RpcStream() { loop_.RemoveStream(); }

  EventLoop& loop() { return loop_; }
  grpc::ServerContext& context() { return context_; }
  AsyncStream& stream() { return stream_; }
  EventLoop::Event* accepted() { return &accepted_; }

  // May be called by any thread while nothing of the kind is under way, and not
  // after Finish. What is read into or written stays where it is until it is
  // done. Finish is called once, also after OnCancel.
  template <typename Request>
  void StartRead(Request* request) {
    ++under_way_;
    stream_.Read(request, &read_);
  }
  template <typename Response>
  void StartWrite(const Response& response) {
    ++under_way_;
    stream_.Write(response, &written_);
  }
  void Finish(const grpc::Status& status) {
    stream_.Finish(status, &finished_);
  }

  virtual void OnStart() = 0;
  // If not `ok`, the client has nothing more to say.
  virtual void OnReadDone(bool /*ok*/) {}
  // If not `ok`, the client is gone.
  virtual void OnWriteDone(bool ok) = 0;
  virtual void OnCancel() = 0;
  // Nothing is under way any more. The object is deleted next.
  virtual void OnDone() {}

 private:
  template <void (RpcStream::*kHandle)(bool ok)>
  class CallOf final : public EventLoop::Event {
   public:
    explicit CallOf(RpcStream* stream) : stream_(*stream) {}
    void Happen(bool ok) override { (stream_.*kHandle)(ok); }

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
    Leave();
  }
  void HandleWritten(bool ok) {
    OnWriteDone(ok);
    Leave();
  }
  void HandleEnded(bool) {
    if (context_.IsCancelled()) OnCancel();
    Leave();
  }
  void HandleFinished(bool) { Leave(); }

  void Leave() {
    if (--under_way_ > 0) return;
    OnDone();
    delete this;
  }

  EventLoop& loop_;
  grpc::ServerContext context_;
  AsyncStream stream_{&context_};
  std::atomic<int> under_way_ = 2;  // ended_ and finished_ come once
  CallOf<&RpcStream::HandleAccepted> accepted_{this};
  CallOf<&RpcStream::HandleRead> read_{this};
  CallOf<&RpcStream::HandleWritten> written_{this};
  CallOf<&RpcStream::HandleEnded> ended_{this};
  CallOf<&RpcStream::HandleFinished> finished_{this};
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_RPC_RPC_STREAM_H_
