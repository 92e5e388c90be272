// A queue of tasks and its threads.

#ifndef FLEETPERF_AGGREGATOR_SUBSCRIBE_TASK_QUEUE_H_
#define FLEETPERF_AGGREGATOR_SUBSCRIBE_TASK_QUEUE_H_

#include <deque>
#include <memory>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/wakeup.h"

namespace fleetperf::aggregator {

class HubTask {
 public:
  virtual ~HubTask() = default;
  // Does one step of the work. Returns false if no work is left; the task must
  // be scheduled again when it has more. Called by one thread at a time.
  virtual bool Work() = 0;
};

// Runs tasks in the order in which they were scheduled, one step at a time.
// Thread-safe.
class TaskQueue {
 public:
  // The longest time that tasks wait for each other.
  static constexpr absl::Duration kGatherTime = absl::Milliseconds(100);

  // With no threads, WorkOnce must be called to do the work.
  explicit TaskQueue(int threads);
  ~TaskQueue() { Stop(); }

  // Makes a thread call Work. A no-op after Stop.
  void Schedule(std::shared_ptr<HubTask> task);
  // The same within kGatherTime, together with others: a thread wakes up once
  // for all of them.
  void ScheduleLater(std::shared_ptr<HubTask> task);

  // Calls Work of one task. Returns false if none is scheduled.
  bool WorkOnce();

  // Drops the scheduled tasks and joins the threads.
  void Stop();

 private:
  void Run();
  // Blocks until a task is ready. Returns false after Stop.
  bool AwaitWork() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Makes the tasks ready that wait for each other.
  void TakeGathered() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  absl::Mutex mutex_;
  Wakeup wakeup_;
  std::deque<std::shared_ptr<HubTask>> ready_ ABSL_GUARDED_BY(mutex_);
  std::deque<std::shared_ptr<HubTask>> gathered_ ABSL_GUARDED_BY(mutex_);
  // When these become ready: Clock::Monotonic().
  absl::Duration due_ ABSL_GUARDED_BY(mutex_);
  bool is_stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;  // last: they use the other members
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SUBSCRIBE_TASK_QUEUE_H_
