// The definitions of epochs in use, in the database.

#ifndef FLEETPERF_AGGREGATOR_STORE_TABLES_DEFINITION_TABLE_H_
#define FLEETPERF_AGGREGATOR_STORE_TABLES_DEFINITION_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "aggregator/samples/dictionary.h"
#include "aggregator/store/tables/database.h"

namespace fleetperf::v1 {
class Definitions;
}  // namespace fleetperf::v1

namespace fleetperf::aggregator {

// Thread-safe.
class DefinitionTable {
 public:
  // The arguments must outlive the table and the dictionaries it makes.
  DefinitionTable(Database* database, SchemaTable* schemas)
      : database_(*database), schemas_(*schemas) {}

  static void Put(uint32_t epoch_number, const v1::Definitions& definitions,
                  Changes* changes);
  static void DeleteInstance(uint32_t epoch_number, uint32_t instance,
                             Changes* changes);
  // Removes a deleted instance from the dictionary in memory.
  void RetireInstance(uint32_t epoch_number, uint32_t instance);

  // The epoch's agent is stored like a definition. GetAgent returns NotFound if
  // there is none.
  static void PutAgent(uint32_t epoch_number, absl::string_view agent,
                       Changes* changes);
  absl::StatusOr<std::string> GetAgent(uint32_t epoch_number) const;

  // Returns the largest number of an epoch that has definitions, or 0.
  absl::StatusOr<uint32_t> LastEpoch() const;
  // Returns whether the store has definitions of the epoch.
  absl::StatusOr<bool> HasDefinitions(uint32_t epoch_number) const;

  // Returns the approximate bytes of the epoch's definitions.
  uint64_t SizeOf(uint32_t epoch_number) const;

  // Deletes all definitions of an ended epoch.
  absl::Status Delete(uint32_t epoch_number, Changes* changes) const;
  // Drops the epoch's dictionary from memory.
  void Forget(uint32_t epoch_number);

  // Returns a dictionary that reads definitions that are not in memory from
  // this table. The dictionary holds `use`.
  std::unique_ptr<Dictionary> MakeDictionary(
      uint32_t epoch_number, const Dictionary::Limits& limits,
      std::shared_ptr<const void> use = nullptr) const;
  // Returns the dictionary for decoding an epoch's batches in the log. It is
  // cached.
  std::shared_ptr<Dictionary> ReadDictionary(uint32_t epoch_number);

  // Calls `use` with every query of the epoch.
  absl::Status ForEachQuery(
      uint32_t epoch_number,
      absl::FunctionRef<void(const CollectedQuery& query)> use,
      OnDamage on_damage) const;

 private:
  Database& database_;
  SchemaTable& schemas_;
  absl::Mutex mutex_;
  absl::flat_hash_map<uint32_t, std::shared_ptr<Dictionary>> dictionaries_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_TABLES_DEFINITION_TABLE_H_
