#include "aggregator/subscribe/feed_listener.h"

namespace fleetperf::aggregator {
namespace {

// The limit of updates held while history is read.
constexpr size_t kMaxHeldUpdates = 1000;
// The limit of remembered ends of series in dropped updates.
constexpr size_t kMaxDroppedEnds = 10'000;

}  // namespace

void FeedListener::Deliver(std::shared_ptr<const FeedUpdate> update) {
  absl::MutexLock lock(&mutex_);
  if (has_left_) return;
  if (is_holding_) {
    held_.push_back(std::move(update));
    if (held_.size() > kMaxHeldUpdates) DropOldest();
    return;
  }
  Send(std::move(update));
}

void FeedListener::DropOldest() {
  const FeedUpdate& oldest = *held_.front();
  const bool knows_ends = dropped_ends_.size() <= kMaxDroppedEnds;
  for (const SeriesValues& values : oldest.values) {
    lagged_ += values.count();
    if (knows_ends) dropped_ends_.erase(values.series->id());
  }
  if (knows_ends) {
    dropped_ends_.insert(oldest.ended.begin(), oldest.ended.end());
  }
  held_.pop_front();
}

// The feed does not repeat the end of a series. If some ends are unknown, all
// series of the history end; those that live return with their next value.
FeedUpdate FeedListener::TakeDropped() {
  FeedUpdate dropped{.lagged = std::exchange(lagged_, 0)};
  const auto ends = std::exchange(dropped_ends_, {});
  for (const uint32_t id : in_history_) {
    if (ends.size() > kMaxDroppedEnds || ends.contains(id)) {
      dropped.ended.push_back(id);
    }
  }
  NoteEnds(dropped);
  return dropped;
}

void FeedListener::Send(std::shared_ptr<const FeedUpdate> update) {
  auto rest = NewOf(std::move(update));
  if (rest == nullptr) return;
  NoteEnds(*rest);
  outbox_->Add(std::move(rest));
}

void FeedListener::NoteEnds(const FeedUpdate& update) {
  for (const uint32_t id : update.ended) in_history_.erase(id);
}

void FeedListener::AddHistory(std::shared_ptr<const FeedUpdate> update) {
  absl::MutexLock lock(&mutex_);
  if (has_left_) return;
  for (const SeriesValues& values : update->values) {
    in_history_.insert(values.series->id());
  }
  NoteEnds(*update);
  outbox_->AddHistory(std::move(update));
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
  if (has_left_) return;
  is_holding_ = false;
  history_ = std::move(history);
  if (FeedUpdate dropped = TakeDropped(); !dropped.empty()) {
    outbox_->Add(std::make_shared<const FeedUpdate>(std::move(dropped)));
  }
  for (auto& update : std::exchange(held_, {})) Send(std::move(update));
}

void FeedListener::Leave(FeedUpdate ends) {
  absl::MutexLock lock(&mutex_);
  has_left_ = true;
  held_.clear();
  NoteEnds(ends);
  ends.ended.insert(ends.ended.end(), in_history_.begin(), in_history_.end());
  in_history_.clear();
  if (ends.empty()) return;
  outbox_->Add(std::make_shared<const FeedUpdate>(std::move(ends)));
}

}  // namespace fleetperf::aggregator
