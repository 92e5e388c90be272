// The epochs of agents: their records, which epochs are in use, and the removal
// of ended epochs.
//
// An epoch is in use while its dictionary is held or the log has a batch of it.
// Otherwise it has ended: its definitions and its entries in the log's index
// are removed. A record of fixed size remains as long as the fingerprints of
// the epoch's batches, so that a returning epoch is recognized. A returning
// epoch gets a new dictionary, which its agent sends again.

#ifndef FLEETPERF_AGGREGATOR_STORE_TABLES_EPOCH_TABLE_H_
#define FLEETPERF_AGGREGATOR_STORE_TABLES_EPOCH_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <map>
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

// Thread-safe, except that RemoveEnded and RemoveRecords allow one caller at a
// time.
class EpochTable {
 public:
  // The arguments must outlive the table.
  EpochTable(Database* database, DefinitionTable* definitions, LogIndex* log)
      : database_(*database), definitions_(*definitions), log_(*log) {}

  // Finds the last assigned number, and registers the epochs that have batches
  // in the log.
  absl::Status Load(OnDamage on_damage);

  // See Store::OpenEpoch. The epoch is in use until its dictionary is released.
  absl::StatusOr<StoredEpoch> Open(const std::string& agent, uint64_t epoch,
                                   const Dictionary::Limits& limits);

  // See Store::EpochsOf.
  std::map<uint32_t, uint64_t> EpochsOf(const std::string& agent) const;

  // Adds a change that makes the epoch durable up to this batch.
  static void PutDurable(uint32_t epoch_number, uint64_t sequence,
                         uint64_t fingerprint, Changes* changes);

  // Calls `use` with the agent of each epoch that has batches in the log.
  absl::Status ForEachAgentInLog(
      absl::FunctionRef<void(uint32_t epoch_number, const std::string& agent)>
          use,
      OnDamage on_damage) const;

  // Returns the approximate bytes of the definitions of epochs in use, by
  // agent.
  std::map<std::string, uint64_t> SizesOfDefinitions() const
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Removes the definitions of some ended epochs, after `secure_moved` returned
  // OK. `secure_moved` ensures that no batch of them can come back. Epochs that
  // ended before this process started are searched for incrementally. Returns
  // false if there is currently nothing left to do.
  absl::StatusOr<bool> RemoveEnded(
      absl::FunctionRef<absl::Status()> secure_moved);

  // Records that fingerprints of these epochs were removed.
  void NoteRemoved(const std::vector<uint32_t>& epoch_numbers);
  // Removes the records of epochs that have no fingerprints, batches or uses
  // left.
  absl::Status RemoveRecords();

 private:
  struct Use {
    std::weak_ptr<const void> dictionary;
    // The database's sequence number when the end of the epoch was detected.
    std::optional<uint64_t> ended;
  };
  // An incremental scan over keys.
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

  // Registers epochs that have definitions but are not in use.
  absl::Status SearchDefinitions();
  // Notes epochs whose records may be removable.
  absl::Status SearchRecords();
  static absl::Status EndSearch(const rocksdb::Status& read, Search* search);
  // Returns some ended epochs that no snapshot can still read.
  std::vector<uint32_t> TakeEnded();
  absl::Status RemoveDefinitions(uint32_t epoch_number);
  // Returns the largest number that has a record or definitions, or occurs in
  // the log.
  absl::StatusOr<uint32_t> FindLastNumber(OnDamage on_damage) const;
  void ForgetDamaged(uint32_t epoch_number, const absl::Status& damage);
  absl::StatusOr<bool> HasFingerprints(uint32_t epoch_number) const;
  absl::StatusOr<bool> CanRemoveRecord(uint32_t epoch_number)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Finds the noted epochs whose records can be removed, and forgets the
  // others.
  absl::Status FindRemovable(absl::flat_hash_set<uint32_t>* numbers);

  Database& database_;
  DefinitionTable& definitions_;
  LogIndex& log_;
  mutable absl::Mutex mutex_;
  uint32_t last_number_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::flat_hash_map<uint32_t, Use> uses_ ABSL_GUARDED_BY(mutex_);
  // Epochs that may have neither batches nor fingerprints.
  absl::flat_hash_set<uint32_t> empty_ ABSL_GUARDED_BY(mutex_);
  // Used by RemoveEnded only.
  Search definitions_search_;
  Search records_search_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_TABLES_EPOCH_TABLE_H_
