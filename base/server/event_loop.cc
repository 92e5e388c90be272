#include "base/server/event_loop.h"

#include <grpcpp/completion_queue.h>

#include <utility>

#include "base/server/connection_table.h"
#include "base/server/peer.h"

namespace fleetperf {

EventLoop::EventLoop(std::unique_ptr<grpc::ServerCompletionQueue> queue,
                     ConnectionTable* connections)
    : queue_(std::move(queue)),
      connections_(*connections),
      thread_([this] { Run(); }) {}

EventLoop::~EventLoop() {
  {
    absl::MutexLock lock(&mutex_);
    const auto is_idle = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return streams_ == 0;
    };
    idle_.Await(&mutex_, is_idle);
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
  if (--streams_ == 0) idle_.Notify();
}

void EventLoop::NoteCall(const std::string& peer) {
  const auto parsed = ParsePeer(peer);
  if (parsed.has_value()) connections_.MarkAuthenticated(*parsed);
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
  while (queue_->Next(&event, &ok)) static_cast<Event*>(event)->OnCompleted(ok);
}

}  // namespace fleetperf
