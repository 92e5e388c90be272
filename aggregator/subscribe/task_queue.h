// Work that waits for a thread, and the threads that do it.

#ifndef FLEETPERF_AGGREGATOR_SUBSCRIBE_TASK_QUEUE_H_
#define FLEETPERF_AGGREGATOR_SUBSCRIBE_TASK_QUEUE_H_

#include <deque>
#include <memory>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "base/wakeup.h"

namespace fleetperf::aggregator {

class HubTask {
 public:
  virtual ~HubTask() = default;
  // Does a part of what there is to do. False if nothing is left; it is
  // scheduled when there is. Called by one thread at a time.
  virtual bool Work() = 0;
};

// Tasks have their turns in the order in which they were scheduled.
// Thread-safe.
class TaskQueue {
 public:
  // With no threads, WorkOnce does the work.
  explicit TaskQueue(int threads);
  ~TaskQueue() { Stop(); }

  // Has a thread call Work. After Stop, nothing is done.
  void Schedule(std::shared_ptr<HubTask> task);

  // Calls Work of one task; false if none waits.
  bool WorkOnce();

  // Drops what waits. When it returns, no thread works any more.
  void Stop();

 private:
  void Run();

  absl::Mutex mutex_;
  Wakeup wakeup_;
  std::deque<std::shared_ptr<HubTask>> ready_ ABSL_GUARDED_BY(mutex_);
  bool is_stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;  // last: they use the others
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SUBSCRIBE_TASK_QUEUE_H_
