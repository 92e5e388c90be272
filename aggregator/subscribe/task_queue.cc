#include "aggregator/subscribe/task_queue.h"

#include <utility>

namespace fleetperf::aggregator {

TaskQueue::TaskQueue(int threads) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Run(); });
}

void TaskQueue::Schedule(std::shared_ptr<HubTask> task) {
  absl::MutexLock lock(&mutex_);
  if (is_stopping_) return;
  ready_.push_back(std::move(task));
  wakeup_.NotifyOne();
}

bool TaskQueue::WorkOnce() {
  std::shared_ptr<HubTask> task;
  {
    absl::MutexLock lock(&mutex_);
    if (ready_.empty()) return false;
    task = std::move(ready_.front());
    ready_.pop_front();
  }
  if (task->Work()) Schedule(std::move(task));
  return true;
}

void TaskQueue::Stop() {
  // Destroyed without the lock, because their destructors may schedule others.
  std::deque<std::shared_ptr<HubTask>> dropped;
  {
    absl::MutexLock lock(&mutex_);
    is_stopping_ = true;
    dropped.swap(ready_);
    wakeup_.Notify();
  }
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void TaskQueue::Run() {
  const auto has_work = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return is_stopping_ || !ready_.empty();
  };
  for (;;) {
    {
      absl::MutexLock lock(&mutex_);
      wakeup_.Await(&mutex_, has_work);
      if (is_stopping_) return;
    }
    WorkOnce();
  }
}

}  // namespace fleetperf::aggregator
