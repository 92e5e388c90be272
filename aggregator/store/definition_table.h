// The definitions of epochs, in the database.

#ifndef FLEETPERF_AGGREGATOR_STORE_DEFINITION_TABLE_H_
#define FLEETPERF_AGGREGATOR_STORE_DEFINITION_TABLE_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "aggregator/store/database.h"
#include "aggregator/store/dictionary.h"

namespace fleetperf::v1 {
class Definitions;
}  // namespace fleetperf::v1

namespace fleetperf::aggregator {

// Thread-safe.
class DefinitionTable {
 public:
  // Both outlive this, and the dictionaries that it makes.
  DefinitionTable(Database* database, SchemaTable* schemas)
      : database_(*database), schemas_(*schemas) {}

  static void Put(uint32_t epoch_number, const v1::Definitions& definitions,
                  Changes* changes);
  static void DeleteInstance(uint32_t epoch_number, uint32_t instance,
                             Changes* changes);

  // A dictionary that reads from here what is not in memory.
  std::unique_ptr<Dictionary> MakeDictionary(
      uint32_t epoch_number, const Dictionary::Limits& limits) const;
  // That by which an epoch's batches are read again; kept for the next time.
  std::shared_ptr<Dictionary> ReadDictionary(uint32_t epoch_number);

  // Calls `use` with every query of every epoch.
  absl::Status ForEachQuery(
      const std::function<void(uint32_t epoch_number,
                               const CollectedQuery& query)>& use,
      OnDamage on_damage) const;

 private:
  Database& database_;
  SchemaTable& schemas_;
  absl::Mutex mutex_;
  absl::flat_hash_map<uint32_t, std::shared_ptr<Dictionary>> dictionaries_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_DEFINITION_TABLE_H_
