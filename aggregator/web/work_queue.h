// Threads for requests that read the store.

#ifndef FLEETPERF_AGGREGATOR_WEB_WORK_QUEUE_H_
#define FLEETPERF_AGGREGATOR_WEB_WORK_QUEUE_H_

#include <cstddef>
#include <deque>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "base/wakeup.h"

namespace fleetperf::aggregator::web {

// Runs tasks. A caller has at most a share of the threads, so that its tasks do
// not keep those of others waiting. Thread-safe.
class WorkQueue {
 public:
  struct Limits {
    size_t threads = 16;
    size_t threads_of_caller = 8;
    size_t waiting_of_caller = 64;
  };

  explicit WorkQueue(const Limits& limits);
  // Drops the tasks that wait, and waits for those that run.
  ~WorkQueue();

  // Runs the task later. Returns false if too many tasks of the caller wait.
  bool Post(const std::string& caller, std::function<void()> task);

 private:
  struct Caller {
    std::deque<std::function<void()>> waiting;
    size_t running = 0;
    bool is_listed = false;  // in turns_
  };

  void Run();
  // Lists a caller that has a task to run and may run it.
  void List(const std::string& name, Caller* caller)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Limits limits_;
  absl::Mutex mutex_;
  Wakeup changed_;
  absl::flat_hash_map<std::string, Caller> callers_ ABSL_GUARDED_BY(mutex_);
  // The callers whose tasks may run, in the order of their turns.
  std::deque<std::string> turns_ ABSL_GUARDED_BY(mutex_);
  bool is_stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace fleetperf::aggregator::web

#endif  // FLEETPERF_AGGREGATOR_WEB_WORK_QUEUE_H_
