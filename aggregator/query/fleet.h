// The fleet as a whole: catalogues of what could be collected, and what is.

#ifndef FLEETPERF_AGGREGATOR_QUERY_FLEET_H_
#define FLEETPERF_AGGREGATOR_QUERY_FLEET_H_

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "aggregator/query/resolver.h"
#include "aggregator/store/store.h"
#include "perflib/path.h"
#include "perflib/registration.h"

namespace fleetperf::aggregator {

// A counterset as a whole fleet has it: the registration that most machines
// have, and who has it.
struct FleetCounterset {
  perflib::CountersetRegistration registration;  // with helps, if any has them
  std::set<std::string> machines;                // that could serve it
  std::set<std::string> collecting_machines;
  std::set<uint32_t> collected_counters;
};

// Counters that exist for the sake of others are not shown to people.
bool IsShown(const perflib::CounterRegistration& counter);

// Thread-safe.
class Fleet {
 public:
  explicit Fleet(Store* store) : store_(*store) {}

  // Whether an agent has ever connected.
  bool HasMachines() const { return store_.directory().HasMachines(); }

  // The countersets of the machines that match, by name and GUID.
  std::vector<FleetCounterset> Countersets(const perflib::Pattern& machine);

  // The names of all countersets that are collected or could be.
  std::vector<std::string> CountersetNames();

  // What the paths select in the machines' catalogues, collected or not.
  Selected Select(const PathSet& paths);

  // The counterset that `name` ("{GUID}" or a name) stands for. A NotFound
  // error names the nearest ones.
  absl::StatusOr<FleetCounterset> FindCounterset(const std::string& name);

 private:
  using Schemas = std::vector<std::shared_ptr<const Schema>>;

  // A catalogue's countersets; none if it is not held.
  std::shared_ptr<const Schemas> Catalogue(const std::string& hash);

  Store& store_;
  absl::Mutex mutex_;
  std::map<std::string, std::shared_ptr<const Schemas>> catalogues_
      ABSL_GUARDED_BY(mutex_);
  size_t catalogue_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_QUERY_FLEET_H_
