#include "aggregator/subscribe/feed_listener.h"

namespace fleetperf::aggregator {
namespace {

// The limit of updates held while history is read.
constexpr size_t kMaxHeld = 1000;

}  // namespace

void FeedListener::Deliver(std::shared_ptr<const FeedUpdate> update) {
  absl::MutexLock lock(&mutex_);
  if (is_holding_) {
    held_.push_back(std::move(update));
    if (held_.size() <= kMaxHeld) return;
    for (const SeriesValues& values : held_.front()->values) {
      lagged_ += values.count();
    }
    held_.pop_front();
    return;
  }
  if (auto rest = NewOf(std::move(update))) outbox_->Add(std::move(rest));
}

std::shared_ptr<const FeedUpdate> FeedListener::NewOf(
    std::shared_ptr<const FeedUpdate> update) const {
  if (!history_.Has(update->position)) return update;
  // The stored samples may not show that a series ended.
  if (update->ended.empty()) return nullptr;
  return std::make_shared<const FeedUpdate>(
      FeedUpdate{.position = update->position, .ended = update->ended});
}

void FeedListener::Release(SeenBatches history) {
  absl::MutexLock lock(&mutex_);
  is_holding_ = false;
  history_ = std::move(history);
  if (lagged_ > 0) {
    outbox_->Add(
        std::make_shared<const FeedUpdate>(FeedUpdate{.lagged = lagged_}));
  }
  for (auto& update : std::exchange(held_, {})) {
    if (auto rest = NewOf(std::move(update))) outbox_->Add(std::move(rest));
  }
}

}  // namespace fleetperf::aggregator
