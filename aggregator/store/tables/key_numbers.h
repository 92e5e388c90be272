// The numbers that identify machines and query shapes in the keys of chunks.

#ifndef FLEETPERF_AGGREGATOR_STORE_TABLES_KEY_NUMBERS_H_
#define FLEETPERF_AGGREGATOR_STORE_TABLES_KEY_NUMBERS_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "aggregator/samples/dictionary.h"
#include "aggregator/samples/frame.h"
#include "aggregator/store/tables/database.h"

namespace fleetperf::aggregator {

// Thread-safe.
class KeyNumbers {
 public:
  // The arguments must outlive this object.
  KeyNumbers(Database* database, SchemaTable* schemas)
      : database_(*database), schemas_(*schemas) {}

  // Reads the assigned numbers. Numbers of damaged records are not assigned
  // again.
  absl::Status Load(OnDamage on_damage);

  // Returns the number for new data of a machine. Assigns one if it has none.
  absl::StatusOr<uint32_t> GetMachine(const std::string& machine);
  // Returns the number of a machine; std::nullopt if it has none.
  std::optional<uint32_t> FindMachine(const std::string& machine) const;
  std::optional<std::string> MachineOf(uint32_t number) const;
  // Returns all machines by number.
  std::map<uint32_t, std::string> Machines() const;

  // Returns the number of a query's shape, which is the query without its
  // machine. Assigns a new number if the shape has none.
  absl::StatusOr<uint32_t> GetShape(const CollectedQuery& query);
  // Returns a query of this shape, with an empty machine. DataLoss if the
  // number is unknown.
  absl::StatusOr<std::shared_ptr<const CollectedQuery>> ShapeOf(
      uint32_t number) const;

 private:
  // Thread-compatible.
  class Sequence {
   public:
    // Returns ResourceExhausted if no number is left.
    absl::StatusOr<uint32_t> Next() const;
    void Take(uint32_t number) { last_ = std::max(last_, number); }

   private:
    uint32_t last_ = 0;
  };

  absl::Status LoadMachines(OnDamage on_damage)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status LoadShapes(OnDamage on_damage)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status ReserveUsedNumbers() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status AddShape(uint32_t number, absl::string_view record)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Database& database_;
  SchemaTable& schemas_;
  mutable absl::Mutex mutex_;
  absl::flat_hash_map<std::string, uint32_t> machines_ ABSL_GUARDED_BY(mutex_);
  std::map<uint32_t, std::string> machine_names_ ABSL_GUARDED_BY(mutex_);
  Sequence machine_numbers_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, uint32_t> shapes_
      ABSL_GUARDED_BY(mutex_);  // by record
  absl::flat_hash_map<uint32_t, std::shared_ptr<const CollectedQuery>>
      shape_queries_ ABSL_GUARDED_BY(mutex_);
  Sequence shape_numbers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_TABLES_KEY_NUMBERS_H_
