// The epochs of agents: their records, which of them are in use, and what goes
// when they end.
//
// An epoch is in use while its dictionary is held, or a batch of it is in the
// log. When it is in use no more, it has ended: its definitions go, and what
// the log's index has of it. A record of fixed size stays as long as the
// fingerprints of its batches, so that it is recognised if it comes back. It
// then has a dictionary again, which its agent tells anew.

#ifndef FLEETPERF_AGGREGATOR_STORE_TABLES_EPOCH_TABLE_H_
#define FLEETPERF_AGGREGATOR_STORE_TABLES_EPOCH_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "aggregator/samples/commit.h"
#include "aggregator/store/tables/database.h"
#include "aggregator/store/tables/definition_table.h"
#include "aggregator/store/tables/log_index.h"

namespace fleetperf::aggregator {

// Thread-safe; of RemoveEnded and RemoveRecords one caller at a time.
class EpochTable {
 public:
  // They outlive this.
  EpochTable(Database* database, DefinitionTable* definitions, LogIndex* log)
      : database_(*database), definitions_(*definitions), log_(*log) {}

  // Finds the last number that was given, and takes up the epochs that the log
  // has batches of.
  absl::Status Load(OnDamage on_damage);

  // See Store::OpenEpoch. The epoch is in use until the dictionary goes.
  absl::StatusOr<StoredEpoch> Open(const std::string& agent, uint64_t epoch,
                                   const Dictionary::Limits& limits);

  // The epoch is durable up to this batch.
  static void PutDurable(uint32_t epoch_number, uint64_t sequence,
                         uint64_t fingerprint, Changes* changes);

  // Calls `use` with the agents of the epochs that the log has batches of.
  absl::Status ForEachAgentInLog(
      absl::FunctionRef<void(uint32_t epoch_number, const std::string& agent)>
          use,
      OnDamage on_damage) const;

  // Removes what is to go of some epochs that have ended, after `secure_moved`
  // returned OK: it makes sure that none of their batches comes back. Those
  // that ended before this process began are looked for little by little. False
  // if there is nothing to do at the moment.
  absl::StatusOr<bool> RemoveEnded(
      absl::FunctionRef<absl::Status()> secure_moved);

  // Fingerprints of these epochs have been removed.
  void NoteRemoved(const std::vector<uint32_t>& epoch_numbers);
  // Removes the records of epochs that nothing is left of.
  absl::Status RemoveRecords();

 private:
  struct Use {
    std::weak_ptr<const void> dictionary;
    // The database's sequence when it was found to have ended.
    std::optional<uint64_t> ended;
  };
  // A walk through keys, some at a time.
  struct Search {
    std::string next;
    bool done = false;
  };

  absl::StatusOr<StoredEpoch> Read(absl::string_view key,
                                   absl::string_view record) const;
  absl::StatusOr<StoredEpoch> Make(const std::string& agent,
                                   const std::string& key)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void KeepAgent(const std::string& agent, uint32_t epoch_number)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool IsInUse(uint32_t epoch_number, const Use& use) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Takes up epochs that have definitions, though nothing uses them.
  absl::Status SearchDefinitions();
  // Takes up records of epochs that nothing may be left of.
  absl::Status SearchRecords();
  static absl::Status EndSearch(const rocksdb::Iterator& entry, Search* search);
  // Some of those that have ended, and of which nobody is reading.
  std::vector<uint32_t> TakeEnded();
  absl::Status RemoveDefinitions(uint32_t epoch_number);
  // The largest number that has a record or definitions, or is in the log.
  absl::StatusOr<uint32_t> FindLastNumber(OnDamage on_damage) const;
  void LeaveOut(uint32_t epoch_number, const absl::Status& damage);
  absl::StatusOr<bool> HasFingerprints(uint32_t epoch_number) const;
  absl::StatusOr<bool> CanRemoveRecord(uint32_t epoch_number)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Of those that are noted, the ones to remove; forgets the others.
  absl::Status FindRemovable(absl::flat_hash_set<uint32_t>* numbers);

  Database& database_;
  DefinitionTable& definitions_;
  LogIndex& log_;
  absl::Mutex mutex_;
  uint32_t last_number_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::flat_hash_map<uint32_t, Use> uses_ ABSL_GUARDED_BY(mutex_);
  // Epochs that may have neither batches nor fingerprints.
  absl::flat_hash_set<uint32_t> empty_ ABSL_GUARDED_BY(mutex_);
  // Of RemoveEnded alone.
  Search definitions_search_;
  Search records_search_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_TABLES_EPOCH_TABLE_H_
