// The queue of updates for one subscriber.

#ifndef FLEETPERF_AGGREGATOR_SUBSCRIBE_OUTBOX_H_
#define FLEETPERF_AGGREGATOR_SUBSCRIBE_OUTBOX_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "aggregator/query/choice.h"
#include "aggregator/subscribe/feed_update.h"
#include "aggregator/subscribe/live_chooser.h"
#include "base/os/clock.h"
#include "base/server/caller_quota.h"
#include "fleetperf/v1/subscription.pb.h"

namespace fleetperf::aggregator {

// Producers never block. If a subscriber falls behind, only the newest value of
// each series is kept; the rest count as dropped. If the subscriptions of its
// caller hold too much memory, no live values are kept, and stored ones end the
// subscription. Thread-safe.
class Outbox {
 public:
  // The limit of pending values before values are dropped.
  static constexpr size_t kMaxValues = 20'000;
  // The limit of series of a subscription.
  static constexpr size_t kMaxSeries = 200'000;

  // `clock` must outlive the outbox.
  explicit Outbox(const Choice& choice, const Clock* clock = &Clock::Real())
      : chooser_(choice, clock) {}

  // Sets a function that is called, without a lock, when the outbox becomes
  // non-empty.
  void SetListener(std::function<void()> listener);
  // Sets a function that is called, without a lock, when IsFullOfHistory
  // becomes false.
  void SetDrainedListener(std::function<void()> listener);

  // Takes memory from this share (Pool::kUnreadBytes) from now on. Without it,
  // there is no limit.
  void SetMemory(CallerQuota::Share memory);
  // Sets the bytes of the last message that are still held to be sent.
  void SetHeld(size_t bytes);

  void Add(std::shared_ptr<const FeedUpdate> update);
  // Adds stored values, which are never dropped. The caller must wait while
  // IsFullOfHistory.
  void AddHistory(std::shared_ptr<const FeedUpdate> update);
  // Sets what the first message has, too. Must be called before the first Take.
  void SetFirst(v1::SubscribeResponse first);
  // Makes Take return a message even if it is empty. Must be called when all
  // history was added; the message with the last value of it says so.
  void Begin();
  // Adds the machines to the next message; after Begin, to a message of their
  // own.
  void SetLiveMachines(const v1::LiveMachines& machines);
  // Ends the queue after the pending updates.
  void End(const absl::Status& status);

  // Whether no history must be added: the outbox is full, or has ended.
  bool IsFullOfHistory() const;
  // Whether End was called.
  bool has_end() const;

  // A message. Its parts follow each other on the wire.
  struct Message {
    v1::SubscribeResponse response;
    std::vector<std::shared_ptr<const std::string>> encoded_values;
  };
  // Moves pending updates to `message`. Returns false if none are pending.
  bool Take(Message* message);
  // Returns the status of End once no updates are pending.
  std::optional<absl::Status> ended() const;

 private:
  struct Waiting {
    std::shared_ptr<const FeedUpdate> update;
    bool is_kept = false;
    size_t values = 0;
    size_t bytes = 0;
  };

  // History is never dropped.
  void Put(std::shared_ptr<const FeedUpdate> update, bool is_history);
  bool HasNothingToSend() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool IsEmpty() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void LeaveOutOld() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Drops all live values. Keeps which series have ended.
  void LeaveOutLive() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Removes the live updates at the end of `waiting_`, and returns one with the
  // ends of their series, and the newest values unless `drops_all`.
  std::shared_ptr<FeedUpdate> JoinLive(bool drops_all)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The bytes that the outbox holds, about.
  int64_t HeldBytes() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes memory for an update that was just added.
  void TakeMemory(bool is_kept) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Move(const FeedUpdate& update, Message* message)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Calls `change` under the lock, and the listener if the outbox has become
  // non-empty.
  void Change(absl::FunctionRef<void()> change) ABSL_LOCKS_EXCLUDED(mutex_);

  mutable absl::Mutex mutex_;
  LiveChooser chooser_ ABSL_GUARDED_BY(mutex_);
  std::function<void()> listener_ ABSL_GUARDED_BY(mutex_);
  std::function<void()> drained_listener_ ABSL_GUARDED_BY(mutex_);
  std::deque<Waiting> waiting_ ABSL_GUARDED_BY(mutex_);
  size_t values_ ABSL_GUARDED_BY(mutex_) = 0;  // pending
  size_t kept_ ABSL_GUARDED_BY(mutex_) = 0;    // pending, never dropped
  CallerQuota::Share memory_ ABSL_GUARDED_BY(mutex_);
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // pending
  size_t held_ ABSL_GUARDED_BY(mutex_) = 0;   // being sent
  uint64_t lagged_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::flat_hash_set<uint32_t> known_ ABSL_GUARDED_BY(mutex_);
  v1::SubscribeResponse first_ ABSL_GUARDED_BY(mutex_);
  std::optional<v1::LiveMachines> live_machines_ ABSL_GUARDED_BY(mutex_);
  bool begins_ ABSL_GUARDED_BY(mutex_) = false;     // the next message is due
  bool has_begun_ ABSL_GUARDED_BY(mutex_) = false;  // and has all history
  bool has_sent_history_ ABSL_GUARDED_BY(mutex_) = false;
  bool defers_history_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<absl::Status> end_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SUBSCRIBE_OUTBOX_H_
