// The thread on which streams are read and written.
//
// All of gRPC's threads that wait for connections share them, and hand the duty
// on with each event, so that one message wakes several: a second such thread
// makes a message cost two thirds more (docs/reference/performance.md).
// Therefore streams have one for every four processors, four at most, and calls
// of other kinds are waited for without taking part. What takes long belongs
// elsewhere: while it is done, nothing is read.

#ifndef FLEETPERF_AGGREGATOR_RPC_EVENT_LOOP_H_
#define FLEETPERF_AGGREGATOR_RPC_EVENT_LOOP_H_

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

namespace fleetperf::aggregator {

class ConnectionTable;

// Thread-safe.
class EventLoop {
 public:
  // The end of an operation, for which the queue has its address.
  class Event {
   public:
    // Called by the loop's thread. `ok`: as gRPC defines it for the operation.
    virtual void Happen(bool ok) = 0;

   protected:
    ~Event() = default;
  };

  // `connections` are those of its server, and outlive this.
  EventLoop(std::unique_ptr<grpc::ServerCompletionQueue> queue,
            ConnectionTable* connections);
  // After its server was shut down. Waits until all streams have ended.
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  grpc::ServerCompletionQueue& queue() { return *queue_; }

  // Has the loop's thread call `task` soon; several are one wake-up. For
  // streams, while they may begin operations.
  void Post(std::function<void()> task);

  // From the first until the second, a stream may begin operations.
  void AddStream();
  void RemoveStream();

  // A call has come, from gRPC's text for its peer.
  void NoteCall(const std::string& peer);

 private:
  class PostedEvent final : public Event {
   public:
    explicit PostedEvent(EventLoop* loop) : loop_(*loop) {}
    void Happen(bool) override { loop_.RunPosted(); }

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
  std::thread thread_;  // last: it uses the others
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_RPC_EVENT_LOOP_H_
