#include "aggregator/rpc/event_loop.h"

#include <grpcpp/completion_queue.h>

#include <utility>

namespace fleetperf::aggregator {

EventLoop::EventLoop(std::unique_ptr<grpc::ServerCompletionQueue> queue)
    : queue_(std::move(queue)), thread_([this] { Run(); }) {}

EventLoop::~EventLoop() {
  {
    absl::MutexLock lock(&mutex_);
    const auto is_idle = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return streams_ == 0;
    };
    mutex_.Await(absl::Condition(&is_idle));
  }
  queue_->Shutdown();
  thread_.join();
}

void EventLoop::AddStream() {
  absl::MutexLock lock(&mutex_);
  ++streams_;
}

void EventLoop::RemoveStream() {
  absl::MutexLock lock(&mutex_);
  --streams_;
}

void EventLoop::Post(std::function<void()> task) {
  absl::MutexLock lock(&mutex_);
  posted_.push_back(std::move(task));
  if (posted_.size() > 1) return;
  wake_up_.Set(queue_.get(), gpr_time_0(GPR_CLOCK_MONOTONIC), &posted_event_);
}

void EventLoop::RunPosted() {
  std::vector<std::function<void()>> tasks;
  {
    absl::MutexLock lock(&mutex_);
    tasks.swap(posted_);
  }
  for (const auto& task : tasks) task();
}

void EventLoop::Run() {
  void* event = nullptr;
  bool ok = false;
  while (queue_->Next(&event, &ok)) static_cast<Event*>(event)->Happen(ok);
}

}  // namespace fleetperf::aggregator
