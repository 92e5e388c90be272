// Handles acknowledged commits that are missing from the store.

#ifndef FLEETPERF_AGGREGATOR_STORE_TABLES_LOST_COMMITS_H_
#define FLEETPERF_AGGREGATOR_STORE_TABLES_LOST_COMMITS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "aggregator/store/tables/commit_mark.h"
#include "aggregator/store/tables/database.h"
#include "base/os/clock.h"

namespace fleetperf::aggregator {

// Returns the mark of the last commit in the database. It has no commits if the
// database has no mark yet.
absl::StatusOr<CommitMark> ReadCommitMark(const Database& database);

// Describes for operators the losses found in the write-ahead log when the
// database was opened: file, position and extent. Empty if nothing is lost.
std::vector<std::string> LostCommits(const Database& database,
                                     const CommitMark& mark);

// Records a loss in place of lost batches whose epochs have later batches. The
// loss covers all machines of the agent, with an unknown number of ticks.
// Agents report the losses of all other epochs themselves, since Welcome tells
// them how far their batches are durable. Calls `on_damage` if a loss cannot be
// recorded: the batch may exist but cannot be looked up, or the agent's name is
// lost, too.
absl::Status KeepLostCommits(Database* database, OnDamage on_damage);

// Reserves the numbers of epochs, machines and shapes that chunks refer to, so
// that they are not assigned again if the records that assigned them are lost.
absl::Status KeepNumbersInUse(Database* database, OnDamage on_damage);

// Tracks whether definitions may have been lost with commits. If so, agents are
// asked for the definitions of each epoch, and batches that lack definitions
// stay in the log: until some minutes after their agent began to send its
// definitions, or until the process has run for a day. A restarted process
// starts over. Thread-safe.
class LostDefinitions {
 public:
  // The arguments must outlive this object.
  LostDefinitions(Database* database, const Clock* clock)
      : database_(*database), clock_(*clock) {}

  // Restores the state that an earlier process recorded.
  absl::Status Load();
  // Records durably that commits are lost.
  absl::Status Note();

  // Returns whether to ask the epoch's agent for its definitions: they may be
  // lost, and it has sent none.
  bool MustAsk(uint32_t epoch_number) const;
  // Records that the agent has sent definitions of the epoch. Returns whether
  // definitions may be lost.
  bool NoteReceived(uint32_t epoch_number);

  // Returns whether missing definitions of the epoch may still arrive.
  bool MayCome(uint32_t epoch_number) const;
  // Marks the epoch as waiting: its batches need definitions that may still
  // arrive. IsWaiting is true until some arrive, or none can arrive any more.
  void Wait(uint32_t epoch_number);
  bool IsWaiting(uint32_t epoch_number) const;
  // Clears the record of lost commits once the wait is over.
  absl::Status EndWaiting();

 private:
  struct Epoch {
    bool is_waiting = false;
    // The time until which definitions may arrive, if its agent has sent some.
    absl::Duration end = absl::InfiniteDuration();
  };

  Epoch Find(uint32_t epoch_number) const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  bool MayComeLocked(const Epoch& epoch) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);

  Database& database_;
  const Clock& clock_;
  mutable absl::Mutex mutex_;
  bool are_lost_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Duration end_ ABSL_GUARDED_BY(mutex_);  // Clock::Monotonic()
  absl::flat_hash_map<uint32_t, Epoch> epochs_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_TABLES_LOST_COMMITS_H_
