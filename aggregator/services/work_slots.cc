#include "aggregator/services/work_slots.h"

#include <tuple>
#include <utility>

#include "absl/time/time.h"

namespace fleetperf::aggregator {
namespace {

// The interval of checks for cancellation while a call waits.
constexpr absl::Duration kCancelInterval = absl::Milliseconds(50);

}  // namespace

std::unique_ptr<WorkSlots::Slot> WorkSlots::Enter(
    const std::string& caller, const IsCancelled& is_cancelled) {
  absl::MutexLock lock(&mutex_);
  Waiter waiter(caller, &clock_);
  const auto place = waiters_.insert(waiters_.end(), &waiter);
  ++callers_[caller].waiting;
  Assign();
  const auto has_slot = [&]() { return waiter.has_slot; };
  while (!waiter.entered.Await(&mutex_, kCancelInterval, has_slot)) {
    if (CheckNotCancelled(is_cancelled).ok()) continue;
    waiters_.erase(place);
    --callers_[caller].waiting;
    ForgetIfIdle(caller);
    return nullptr;
  }
  return std::make_unique<Slot>(this, caller);
}

size_t WorkSlots::running() const {
  absl::MutexLock lock(&mutex_);
  return static_cast<size_t>(running_);
}

size_t WorkSlots::waiting() const {
  absl::MutexLock lock(&mutex_);
  return waiters_.size();
}

void WorkSlots::Leave(const std::string& caller) {
  absl::MutexLock lock(&mutex_);
  --running_;
  --callers_[caller].running;
  ForgetIfIdle(caller);
  Assign();
}

void WorkSlots::Assign() {
  while (running_ < limits_.slots) {
    Waiter* const next = Next();
    if (next == nullptr) return;
    waiters_.remove(next);
    Caller& caller = callers_[next->caller];
    --caller.waiting;
    ++caller.running;
    caller.last_turn = ++turns_;
    ++running_;
    next->has_slot = true;
    next->entered.Notify();
  }
}

WorkSlots::Waiter* WorkSlots::Next() {
  Waiter* next = nullptr;
  std::pair<int, uint64_t> least;
  for (Waiter* const waiter : waiters_) {
    const Caller& caller = callers_[waiter->caller];
    if (caller.running >= limits_.slots_of_caller) continue;
    const auto rank = std::make_pair(caller.running, caller.last_turn);
    if (next != nullptr && rank >= least) continue;
    next = waiter;
    least = rank;
  }
  return next;
}

void WorkSlots::ForgetIfIdle(const std::string& caller) {
  const auto found = callers_.find(caller);
  if (found->second.running == 0 && found->second.waiting == 0) {
    callers_.erase(found);
  }
}

}  // namespace fleetperf::aggregator
