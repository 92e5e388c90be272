#include "aggregator/subscribe/task_queue.h"

#include <iterator>
#include <utility>

#include "base/os/clock.h"

namespace fleetperf::aggregator {
namespace {

absl::Duration Now() { return Clock::Real().Monotonic(); }

}  // namespace

TaskQueue::TaskQueue(int threads) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Run(); });
}

void TaskQueue::Schedule(std::shared_ptr<HubTask> task) {
  absl::MutexLock lock(&mutex_);
  if (is_stopping_) return;
  ready_.push_back(std::move(task));
  wakeup_.NotifyOne();
}

void TaskQueue::ScheduleLater(std::shared_ptr<HubTask> task) {
  absl::MutexLock lock(&mutex_);
  if (is_stopping_) return;
  gathered_.push_back(std::move(task));
  if (gathered_.size() > 1) return;
  due_ = Now() + kGatherTime;
  wakeup_.NotifyOne();
}

void TaskQueue::TakeGathered() {
  ready_.insert(ready_.end(), std::make_move_iterator(gathered_.begin()),
                std::make_move_iterator(gathered_.end()));
  gathered_.clear();
}

bool TaskQueue::WorkOnce() {
  std::shared_ptr<HubTask> task;
  {
    absl::MutexLock lock(&mutex_);
    if (ready_.empty()) TakeGathered();
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
    TakeGathered();
    dropped.swap(ready_);
    wakeup_.Notify();
  }
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

bool TaskQueue::AwaitWork() {
  const auto has_work = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return is_stopping_ || !ready_.empty();
  };
  while (!has_work()) {
    if (gathered_.empty()) {
      wakeup_.Await(&mutex_, [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        return has_work() || !gathered_.empty();
      });
    } else if (!wakeup_.AwaitUntil(&mutex_, due_, has_work) && Now() >= due_) {
      TakeGathered();
    }
  }
  return !is_stopping_;
}

void TaskQueue::Run() {
  for (;;) {
    {
      absl::MutexLock lock(&mutex_);
      if (!AwaitWork()) return;
    }
    WorkOnce();
  }
}

}  // namespace fleetperf::aggregator
