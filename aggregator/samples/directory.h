// The machines of the fleet and the data collected from them.

#ifndef FLEETPERF_AGGREGATOR_SAMPLES_DIRECTORY_H_
#define FLEETPERF_AGGREGATOR_SAMPLES_DIRECTORY_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "aggregator/samples/frame.h"

namespace fleetperf::aggregator {

// The collected part of a machine's counterset.
struct CollectedCounterset {
  std::shared_ptr<const Schema> schema;
  // The counters that are series of their own, with their collection intervals.
  std::map<uint32_t, absl::Duration> counters;
};

// Thread-safe.
class Directory {
 public:
  // Registers a machine of the fleet. The aggregator's own machine has samples,
  // but is not registered unless an agent collects from it, too.
  void AddMachine(const std::string& machine);
  void AddQuery(const CollectedQuery& query);
  void SetNewestSample(const std::string& machine, absl::Time time);

  // Returns all machines that have samples or are registered, ordered by name.
  std::vector<std::string> Machines() const;
  // Returns whether this machine, or any machine, is registered.
  bool HasMachine(const std::string& machine) const;
  bool HasMachines() const;
  // The number of machines that have samples or are registered.
  size_t size() const;
  // Returns std::nullopt if the machine has no samples yet.
  std::optional<absl::Time> NewestSample(const std::string& machine) const;
  // Returns the names of all collected countersets, in order.
  std::vector<std::string> CountersetNames() const;
  // Returns the countersets of a machine, ordered by name.
  std::vector<std::shared_ptr<const CollectedCounterset>> Countersets(
      const std::string& machine) const;

 private:
  struct Machine {
    bool is_entered = false;
    std::optional<absl::Time> newest_sample;
    // Keyed by schema hash. Values are immutable; changes replace them.
    std::map<std::string, std::shared_ptr<const CollectedCounterset>>
        countersets;
  };

  mutable absl::Mutex mutex_;
  std::map<std::string, Machine> machines_ ABSL_GUARDED_BY(mutex_);
  size_t entered_ ABSL_GUARDED_BY(mutex_) = 0;
  // The counterset names of all machines, cached since every query needs them.
  std::set<std::string> counterset_names_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SAMPLES_DIRECTORY_H_
