// What waits to be sent to a subscriber.

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
#include "fleetperf/v1/subscription.pb.h"

namespace fleetperf::aggregator {

// Never blocks who puts something in: of what a subscriber is too slow for,
// only the newest value of each series is kept, and the others are counted.
// Thread-safe.
class Outbox {
 public:
  // Values that wait before any is left out.
  static constexpr size_t kMaxValues = 20'000;
  // Series that the subscriber knows at a time.
  static constexpr size_t kMaxSeries = 200'000;

  explicit Outbox(const Choice& choice) : chooser_(choice) {}

  // Calls `listener`, without a lock, when something waits and nothing did.
  void SetListener(std::function<void()> listener);
  // The same when little waits and much did.
  void SetDrainedListener(std::function<void()> listener);

  void Add(std::shared_ptr<const FeedUpdate> update);
  // The same of what is stored: that is not left out. The caller waits while
  // HasMuch.
  void AddHistory(std::shared_ptr<const FeedUpdate> update);
  // Something is to be sent, if it is nothing but an empty message.
  void Begin();
  // Goes with the next message; one of its own is sent after Begin.
  void SetLiveMachines(const v1::LiveMachines& machines);
  // Nothing comes after what waits.
  void End(const absl::Status& status);

  // Whether no history is to be added for now, or ever: nothing comes after
  // End.
  bool HasMuch() const;
  // Whether End was called.
  bool has_end() const;

  // A message, as it goes over the wire: the parts one after the other.
  struct Message {
    v1::SubscribeResponse response;
    std::vector<std::shared_ptr<const std::string>> encoded_values;
  };
  // Takes some of what waits. False if nothing does.
  bool Take(Message* message);
  // If nothing waits and nothing comes: why. Else nothing.
  std::optional<absl::Status> ended() const;

 private:
  struct Waiting {
    std::shared_ptr<const FeedUpdate> update;
    bool is_history = false;
    size_t values = 0;
  };

  void Put(std::shared_ptr<const FeedUpdate> update, bool is_history);
  bool HasNothingToSend() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool IsEmpty() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void LeaveOutOld() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Move(const FeedUpdate& update, Message* message)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Calls the listener if there is something now.
  void Change(absl::FunctionRef<void()> change) ABSL_LOCKS_EXCLUDED(mutex_);

  mutable absl::Mutex mutex_;
  LiveChooser chooser_ ABSL_GUARDED_BY(mutex_);
  std::function<void()> listener_ ABSL_GUARDED_BY(mutex_);
  std::function<void()> drained_listener_ ABSL_GUARDED_BY(mutex_);
  std::deque<Waiting> waiting_ ABSL_GUARDED_BY(mutex_);
  size_t values_ ABSL_GUARDED_BY(mutex_) = 0;   // that wait
  size_t history_ ABSL_GUARDED_BY(mutex_) = 0;  // of these
  uint64_t lagged_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::flat_hash_set<uint32_t> known_ ABSL_GUARDED_BY(mutex_);
  std::optional<v1::LiveMachines> live_machines_ ABSL_GUARDED_BY(mutex_);
  bool begins_ ABSL_GUARDED_BY(mutex_) = false;  // and has not told so
  bool has_begun_ ABSL_GUARDED_BY(mutex_) = false;
  bool has_much_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<absl::Status> end_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SUBSCRIBE_OUTBOX_H_
