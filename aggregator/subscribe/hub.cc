#include "aggregator/subscribe/hub.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace fleetperf::aggregator {
namespace {

constexpr size_t kMaxSubscriptions = 1000;
constexpr int kThreads = 2;

}  // namespace

Hub::Hub() {
  for (int i = 0; i < kThreads; ++i) threads_.emplace_back([this] { Run(); });
}

Hub::~Hub() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  for (std::thread& thread : threads_) thread.join();
}

void Hub::SetWatchListener(std::function<void()> listener) {
  absl::MutexLock lock(&mutex_);
  watch_listener_ = std::move(listener);
}

absl::Status Hub::Add(const std::shared_ptr<Subscription>& subscription) {
  {
    absl::MutexLock lock(&mutex_);
    if (subscriptions_.size() >= kMaxSubscriptions) {
      return absl::ResourceExhaustedError(
          absl::StrCat("there are ", kMaxSubscriptions,
                       " subscribers, as many as there may be"));
    }
    subscriptions_.insert(subscription);
    ready_.push_back(subscription);
  }
  NotifyWatchListener();
  return absl::OkStatus();
}

void Hub::Remove(const std::shared_ptr<Subscription>& subscription) {
  {
    absl::MutexLock lock(&mutex_);
    if (subscriptions_.erase(subscription) == 0) return;
  }
  NotifyWatchListener();
}

void Hub::NotifyWatchListener() {
  std::function<void()> listener;
  {
    absl::MutexLock lock(&mutex_);
    listener = watch_listener_;
  }
  if (listener) listener();
}

void Hub::OnBatch(std::shared_ptr<const ReceivedBatch> batch) {
  absl::MutexLock lock(&mutex_);
  for (const std::shared_ptr<Subscription>& subscription : subscriptions_) {
    const bool is_watched =
        std::any_of(batch->decoded.frames.begin(), batch->decoded.frames.end(),
                    [&](const Frame& frame) {
                      return subscription->IsWatching(frame.query->machine);
                    });
    if (is_watched && subscription->Offer(batch)) {
      ready_.push_back(subscription);
    }
  }
}

bool Hub::IsWatched(const std::string& machine) {
  absl::MutexLock lock(&mutex_);
  return std::any_of(subscriptions_.begin(), subscriptions_.end(),
                     [&](const std::shared_ptr<Subscription>& subscription) {
                       return subscription->IsWatching(machine);
                     });
}

void Hub::Run() {
  for (;;) {
    std::shared_ptr<Subscription> subscription;
    {
      absl::MutexLock lock(&mutex_);
      const auto has_work = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        return stopping_ || !ready_.empty();
      };
      mutex_.Await(absl::Condition(&has_work));
      if (stopping_) return;
      subscription = std::move(ready_.front());
      ready_.pop_front();
      if (!subscriptions_.contains(subscription)) continue;  // it was removed
    }
    if (!subscription->Work()) continue;
    absl::MutexLock lock(&mutex_);
    ready_.push_back(std::move(subscription));
  }
}

}  // namespace fleetperf::aggregator
