#include "aggregator/peers/fleet_watches.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"

namespace fleetperf::aggregator {
namespace {

absl::Duration Now() { return Clock::Real().Monotonic(); }

}  // namespace

void FleetWatches::Ready::Mark(Key key) {
  absl::MutexLock lock(&mutex_);
  marked_.insert(key);
  changed_.Notify();
}

void FleetWatches::Ready::Wake() {
  absl::MutexLock lock(&mutex_);
  is_woken_ = true;
  changed_.Notify();
}

absl::flat_hash_set<FleetWatches::Key> FleetWatches::Ready::Wait(
    absl::Duration deadline) {
  absl::MutexLock lock(&mutex_);
  changed_.AwaitUntil(&mutex_, deadline,
                      [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
                        return is_woken_ || !marked_.empty();
                      });
  is_woken_ = false;
  return std::exchange(marked_, {});
}

FleetWatches::FleetWatches(const Peers* peers, std::string store_id)
    : peers_(*peers),
      store_id_(std::move(store_id)),
      thread_([this] { Run(); }) {}

FleetWatches::~FleetWatches() {
  {
    absl::MutexLock lock(&mutex_);
    changes_.is_stopping = true;
  }
  ready_->Wake();
  thread_.join();
}

void FleetWatches::Add(const v1::SubscribeRequest& request,
                       const std::shared_ptr<Outbox>& merged,
                       const std::shared_ptr<Outbox>& own) {
  const Key key = merged.get();
  const auto wake = [ready = ready_, key] { ready->Mark(key); };
  own->SetListener(wake);
  merged->SetDrainedListener(wake);
  auto watch = std::make_unique<FleetWatch>(
      FleetWatch::Options{.request = request,
                          .merged = merged,
                          .own = own,
                          .own_store_id = store_id_,
                          .wake = wake});
  {
    absl::MutexLock lock(&mutex_);
    changes_.added.emplace_back(key, std::move(watch));
  }
  ready_->Mark(key);
}

void FleetWatches::Remove(const std::shared_ptr<Outbox>& merged) {
  {
    absl::MutexLock lock(&mutex_);
    changes_.removed.push_back(merged.get());
  }
  ready_->Wake();
}

void FleetWatches::FollowPeers() {
  {
    absl::MutexLock lock(&mutex_);
    changes_.of_peers = true;
  }
  ready_->Wake();
}

void FleetWatches::Run() {
  for (;;) {
    absl::Duration deadline = absl::InfiniteDuration();
    for (const auto& [key, watch] : watches_) {
      deadline = std::min(deadline, watch.due);
    }
    const absl::flat_hash_set<Key> marked = ready_->Wait(deadline);
    Changes changes;
    {
      absl::MutexLock lock(&mutex_);
      changes = std::exchange(changes_, {});
    }
    if (changes.is_stopping) return;
    // A watch that is removed was added before, and its key is in use until
    // then.
    for (auto& [key, watch] : changes.added) {
      watches_[key].watch = std::move(watch);
    }
    for (const Key key : changes.removed) watches_.erase(key);
    const absl::Duration now = Now();
    for (auto& [key, watch] : watches_) {
      if (changes.of_peers || watch.due <= now || marked.contains(key)) {
        watch.due = watch.watch->Work(peers_.list(), now);
      }
    }
  }
}

}  // namespace fleetperf::aggregator
