#include "base/wakeup.h"

#include <algorithm>
#include <chrono>

namespace fleetperf {

void Wakeup::Notify() {
  {
    const std::lock_guard lock(mutex_);
    ++notifications_;
  }
  notified_.notify_all();  // after the unlock: a waiter needs the mutex first
}

void Wakeup::NotifyOne() {
  {
    const std::lock_guard lock(mutex_);
    ++notifications_;
  }
  notified_.notify_one();
}

bool Wakeup::Block(absl::Mutex* mutex, absl::Duration deadline) {
  uint64_t notifications;
  {
    const std::lock_guard lock(mutex_);
    notifications = notifications_;
  }
  mutex->Unlock();
  const bool is_late = clock_.Block(this, notifications, deadline);
  mutex->Lock();
  return !is_late;
}

bool Wakeup::BlockFor(uint64_t notifications, absl::Duration timeout) {
  // Windows condition variables hang on times before the clock's epoch.
  constexpr absl::Duration kShortest = absl::ZeroDuration();
  constexpr absl::Duration kLongest = absl::Hours(24 * 365);
  const auto is_notified = [&] { return notifications_ > notifications; };
  std::unique_lock lock(mutex_);
  return notified_.wait_until(
      lock,
      std::chrono::steady_clock::now() +
          absl::ToChronoNanoseconds(std::clamp(timeout, kShortest, kLongest)),
      is_notified);
}

// The condition variable's clock is slewed, Monotonic() is not. A wait that
// ends too early is repeated by the caller.
bool Clock::Block(Wakeup* wakeup, uint64_t notifications,
                  absl::Duration deadline) const {
  wakeup->BlockFor(notifications, deadline - Monotonic());
  return Monotonic() >= deadline;
}

}  // namespace fleetperf
