// A thread that reads and writes streams.
//
// gRPC's polling threads share all connections and hand polling over with each
// event, so one message wakes several threads. A second polling thread
// increases the cost of a message by two thirds
// (docs/reference/performance.md). Streams therefore have one thread per four
// processors, at most four, and the threads of other calls do not poll.
//
// Work on the loop's thread must be short: no stream of the loop is read or
// written in the meantime.

#ifndef FLEETPERF_BASE_SERVER_EVENT_LOOP_H_
#define FLEETPERF_BASE_SERVER_EVENT_LOOP_H_

#include <grpcpp/alarm.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "base/wakeup.h"

namespace grpc {
class ServerCompletionQueue;
}  // namespace grpc

namespace fleetperf {

class ConnectionTable;

// Thread-safe.
class EventLoop {
 public:
  // The completion of an operation. Its address is the operation's tag in the
  // completion queue.
  class Event {
   public:
    // Called by the loop's thread. gRPC defines `ok` for each kind of
    // operation.
    virtual void OnCompleted(bool ok) = 0;

   protected:
    ~Event() = default;
  };

  // `connections` is the server's table and must outlive the loop.
  EventLoop(std::unique_ptr<grpc::ServerCompletionQueue> queue,
            ConnectionTable* connections);
  // Blocks until all streams have ended. The server must have been shut down.
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  grpc::ServerCompletionQueue& queue() { return *queue_; }

  // Runs `task` on the loop's thread. Pending tasks share one wake-up. Must
  // only be called for a stream that is between AddStream and RemoveStream.
  void Post(std::function<void()> task);

  // Count the streams. A stream may start operations only between the two
  // calls.
  void AddStream();
  void RemoveStream();

  // Marks the connection of a call as authenticated. `peer` is gRPC's text for
  // the peer.
  void NoteCall(const std::string& peer);

 private:
  class PostedEvent final : public Event {
   public:
    explicit PostedEvent(EventLoop* loop) : loop_(*loop) {}
    void OnCompleted(bool) override { loop_.RunPosted(); }

   private:
    EventLoop& loop_;
  };

  void Run();
  void RunPosted();

  const std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  ConnectionTable& connections_;
  absl::Mutex mutex_;
  size_t streams_ ABSL_GUARDED_BY(mutex_) = 0;
  Wakeup idle_;
  std::vector<std::function<void()>> posted_ ABSL_GUARDED_BY(mutex_);
  PostedEvent posted_event_{this};
  grpc::Alarm wake_up_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;  // last: it uses the other members
};

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_SERVER_EVENT_LOOP_H_
