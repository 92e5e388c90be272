#include "aggregator/web/work_queue.h"

#include <utility>

namespace fleetperf::aggregator::web {

WorkQueue::WorkQueue(const Limits& limits) : limits_(limits) {
  for (size_t i = 0; i < limits.threads; ++i) {
    threads_.emplace_back([this] { Run(); });
  }
}

WorkQueue::~WorkQueue() {
  {
    absl::MutexLock lock(&mutex_);
    is_stopping_ = true;
    changed_.Notify();
  }
  for (std::thread& thread : threads_) thread.join();
}

bool WorkQueue::Post(const std::string& caller, std::function<void()> task) {
  absl::MutexLock lock(&mutex_);
  Caller& entry = callers_[caller];
  if (entry.waiting.size() >= limits_.waiting_of_caller) return false;
  entry.waiting.push_back(std::move(task));
  List(caller, &entry);
  return true;
}

void WorkQueue::List(const std::string& name, Caller* caller) {
  if (caller->is_listed || caller->waiting.empty() ||
      caller->running >= limits_.threads_of_caller) {
    return;
  }
  caller->is_listed = true;
  turns_.push_back(name);
  changed_.NotifyOne();
}

void WorkQueue::Run() {
  absl::MutexLock lock(&mutex_);
  for (;;) {
    changed_.Await(&mutex_, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return is_stopping_ || !turns_.empty();
    });
    if (is_stopping_) return;
    const std::string name = std::move(turns_.front());
    turns_.pop_front();
    Caller& caller = callers_[name];
    caller.is_listed = false;
    std::function<void()> task = std::move(caller.waiting.front());
    caller.waiting.pop_front();
    ++caller.running;
    List(name, &caller);
    mutex_.Unlock();
    task();
    task = nullptr;
    mutex_.Lock();
    Caller& after = callers_[name];
    --after.running;
    List(name, &after);
    if (after.running == 0 && after.waiting.empty()) callers_.erase(name);
  }
}

}  // namespace fleetperf::aggregator::web
