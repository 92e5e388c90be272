// The descriptions of machines, which machines were forgotten, and the
// catalogues of countersets that machines share.

#ifndef FLEETPERF_AGGREGATOR_STORE_TABLES_MACHINE_TABLE_H_
#define FLEETPERF_AGGREGATOR_STORE_TABLES_MACHINE_TABLE_H_

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "aggregator/samples/directory.h"
#include "aggregator/samples/stored_machine.h"
#include "aggregator/store/tables/database.h"
#include "fleetperf/v1/fleet.pb.h"

namespace fleetperf::aggregator {

// Stores machines, and changes the directory with them. Descriptions and
// catalogues become durable with the next commit: an agent that registers does
// not wait for the disk, and reports again what is lost. Thread-safe.
class MachineTable {
 public:
  // The pointers must outlive the table.
  MachineTable(Database* database, Directory* directory)
      : database_(*database), directory_(*directory) {}

  absl::Status Load();

  // See Store.
  bool HasCatalogue(absl::string_view hash) const;
  absl::Status PutCatalogue(absl::string_view hash, absl::string_view content);
  absl::StatusOr<std::string> GetCatalogue(absl::string_view hash) const;
  absl::Status Put(const StoredMachine& stored);
  absl::Status Forget(const std::set<std::string>& names);
  std::optional<StoredMachine> Find(const std::string& name) const;
  std::vector<StoredMachine> Get(const std::string& after, size_t max) const;

  // Calls `use` with each machine that the agent described, which must not call
  // the table.
  void ForEachOf(const std::string& agent,
                 absl::FunctionRef<void(const std::string&)> use) const;

 private:
  absl::Status LoadMachines() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status LoadForgotten() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status RemoveUnusedCatalogues() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Counts one machine less with this catalogue. Returns whether it was the
  // last one.
  bool Release(const std::string& catalogue_hash)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Write(Changes* changes) {
    return database_.Write(changes, Database::Durability::kProcess);
  }

  Database& database_;
  Directory& directory_;
  mutable absl::Mutex mutex_;
  // Records by machine name.
  std::map<std::string, std::string> machines_ ABSL_GUARDED_BY(mutex_);
  // None of them is in `machines_`.
  std::set<std::string> forgotten_ ABSL_GUARDED_BY(mutex_);
  // The number of machines with each catalogue, by hash.
  std::map<std::string, size_t, std::less<>> catalogues_
      ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::set<std::string>> of_agent_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_TABLES_MACHINE_TABLE_H_
