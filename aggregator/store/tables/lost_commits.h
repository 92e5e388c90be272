// Commits that were acknowledged and are not in the store any more.

#ifndef FLEETPERF_AGGREGATOR_STORE_TABLES_LOST_COMMITS_H_
#define FLEETPERF_AGGREGATOR_STORE_TABLES_LOST_COMMITS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "aggregator/store/tables/commit_mark.h"
#include "aggregator/store/tables/database.h"
#include "aggregator/store/tables/definition_table.h"
#include "aggregator/store/tables/lost_ticks_table.h"
#include "base/clock.h"

namespace fleetperf::aggregator {

// The mark of the last commit that the database has; no commits if none has
// one yet.
absl::StatusOr<CommitMark> ReadCommitMark(const Database& database);

// For people: what the write-ahead log lacked when the database was opened, in
// which file and where, and what that cost. Empty if nothing is lost.
std::vector<std::string> LostCommits(const Database& database,
                                     const CommitMark& mark);

// Keeps, in place of batches that are lost and whose epochs have later ones,
// that they are lost: a loss of all of their agent's machines, of an unknown
// number of ticks. Of epochs that have none their agents will tell: Welcome
// says how far their batches are durable. `on_damage` is told why a loss is not
// kept: the batch may be there, but cannot be looked for, or the agent's name
// is lost, too.
absl::Status KeepLostCommits(Database* database,
                             const DefinitionTable& definitions,
                             LostTicksTable* lost_ticks, OnDamage on_damage);

// Makes sure that numbers of epochs, machines and shapes that stand in chunks
// are not given again, if the records that they were given by are lost.
absl::Status KeepNumbersInUse(Database* database, OnDamage on_damage);

// Knows whether definitions may be lost with commits. Then agents are asked for
// those of each epoch, and batches that lack definitions stay in the log: for
// some minutes after their agent has told what it has, or until the process has
// run for a day. A process that is started meanwhile begins anew. Thread-safe.
class LostDefinitions {
 public:
  // Both outlive this.
  LostDefinitions(Database* database, const Clock* clock)
      : database_(*database), clock_(*clock) {}

  // Takes up what an earlier process noted.
  absl::Status Load();
  // Notes that commits are lost. Survives a power cut.
  absl::Status Note();

  // Whether an epoch's agent is to be asked: the first time, if any are lost.
  bool Ask(uint32_t epoch_number);
  // An agent has told definitions of the epoch. Whether some may be lost.
  bool TakeTold(uint32_t epoch_number);

  // Whether definitions of the epoch that are not here may still come.
  bool MayCome(uint32_t epoch_number) const;
  // Batches of the epoch need definitions that may still come: IsWaiting until
  // some are told, or may come no more.
  void Wait(uint32_t epoch_number);
  bool IsWaiting(uint32_t epoch_number) const;
  // Forgets that commits were lost, once that is long enough ago.
  absl::Status EndWaiting();

 private:
  void Begin() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool MayComeLocked(uint32_t epoch_number) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);

  Database& database_;
  const Clock& clock_;
  mutable absl::Mutex mutex_;
  bool are_lost_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Duration end_ ABSL_GUARDED_BY(mutex_);  // Clock::Monotonic()
  absl::flat_hash_set<uint32_t> asked_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_set<uint32_t> waiting_ ABSL_GUARDED_BY(mutex_);
  // Until when more of what their agents tell may come: by epoch, of those that
  // have told some.
  absl::flat_hash_map<uint32_t, absl::Duration> ends_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_TABLES_LOST_COMMITS_H_
