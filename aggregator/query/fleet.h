// The countersets of the fleet: collected ones, and ones that machines'
// catalogues offer.

#ifndef FLEETPERF_AGGREGATOR_QUERY_FLEET_H_
#define FLEETPERF_AGGREGATOR_QUERY_FLEET_H_

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "aggregator/query/cancellation.h"
#include "aggregator/query/machine_filter.h"
#include "aggregator/query/resolver.h"
#include "aggregator/store/readable_store.h"
#include "perflib/path.h"
#include "perflib/registration.h"

namespace fleetperf::aggregator {

// A counterset in the fleet: the registration that most agents have, and the
// number of machines.
struct FleetCounterset {
  perflib::CountersetRegistration registration;  // with help texts, if known
  size_t agents = 0;                             // that offer it on any machine
  size_t machines = 0;                           // that offer it
  // By the plan in force.
  size_t collecting_machines = 0;
  std::set<uint32_t> collected_counters;
};

// Returns false for counters that only serve others, such as bases, which
// listings omit.
bool IsShown(const perflib::CounterRegistration& counter);

// Decoded catalogues of a store. Thread-safe.
class CatalogueCache {
 public:
  using Schemas = std::vector<std::shared_ptr<const Schema>>;

  // Returns a catalogue's countersets; empty if `store` does not have it.
  std::shared_ptr<const Schemas> Get(const std::string& hash,
                                     const ReadableStore& store);

 private:
  absl::Mutex mutex_;
  std::map<std::string, std::shared_ptr<const Schemas>> catalogues_
      ABSL_GUARDED_BY(mutex_);
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

// Thread-safe. The calls with `is_cancelled` return what they have found so far
// if the caller is gone.
class Fleet {
 public:
  explicit Fleet(ReadableStore* store) : store_(*store) {}

  // Whether an agent has ever connected.
  bool HasMachines() const { return store_.directory().HasMachines(); }

  // Returns the countersets of the matching machines, by name and GUID.
  std::vector<FleetCounterset> Countersets(
      absl::FunctionRef<bool(const std::string& machine)> matches,
      const IsCancelled& is_cancelled = nullptr);

  // Returns the matching machines that offer or collect a counterset, by name.
  std::vector<std::string> MachinesWith(
      const perflib::Guid& counterset,
      absl::FunctionRef<bool(const std::string& machine)> matches,
      const IsCancelled& is_cancelled = nullptr);

  // Returns the names of all countersets that are collected or offered.
  std::vector<std::string> CountersetNames(
      const IsCancelled& is_cancelled = nullptr);

  // Resolves the paths in the machines' catalogues, collected or not.
  Selected Select(const PathSet& paths,
                  const IsCancelled& is_cancelled = nullptr);

  // Finds a counterset of the matching machines by "{GUID}" or name. Of several
  // with this name, returns one with the same case, that of the most agents. A
  // NotFound error names the nearest ones.
  absl::StatusOr<FleetCounterset> FindCounterset(
      const std::string& name, const MachineFilter& machines = {},
      const IsCancelled& is_cancelled = nullptr);

 private:
  std::shared_ptr<const CatalogueCache::Schemas> Catalogue(
      const std::string& hash) {
    return catalogues_.Get(hash, store_);
  }

  ReadableStore& store_;
  CatalogueCache catalogues_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_QUERY_FLEET_H_
