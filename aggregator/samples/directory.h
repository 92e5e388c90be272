// Which machines there are and what is collected of them.

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

// A counterset of a machine, as far as it is collected.
struct CollectedCounterset {
  std::shared_ptr<const Schema> schema;
  // The counters that are series of their own, with their intervals.
  std::map<uint32_t, absl::Duration> counters;
};

// Thread-safe.
class Directory {
 public:
  // Enters a machine of the fleet. The aggregator's own has samples and is not
  // entered, unless an agent collects from it, too.
  void AddMachine(const std::string& machine);
  void AddQuery(const CollectedQuery& query);
  void SetNewestSample(const std::string& machine, absl::Time time);

  // All that have samples or were entered, by name.
  std::vector<std::string> Machines() const;
  // Whether this machine, or any, was entered.
  bool HasMachine(const std::string& machine) const;
  bool HasMachines() const;
  // How many machines there are.
  size_t size() const;
  // Nothing if it has none yet.
  std::optional<absl::Time> NewestSample(const std::string& machine) const;
  // The names of all that are collected, in order.
  std::vector<std::string> CountersetNames() const;
  // By the counterset's name.
  std::vector<std::shared_ptr<const CollectedCounterset>> Countersets(
      const std::string& machine) const;

 private:
  struct Machine {
    bool is_entered = false;
    std::optional<absl::Time> newest_sample;
    // By schema hash. What is there never changes, it is replaced.
    std::map<std::string, std::shared_ptr<const CollectedCounterset>>
        countersets;
  };

  mutable absl::Mutex mutex_;
  std::map<std::string, Machine> machines_ ABSL_GUARDED_BY(mutex_);
  size_t entered_ ABSL_GUARDED_BY(mutex_) = 0;
  // Of all machines, as every query asks for them.
  std::set<std::string> counterset_names_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SAMPLES_DIRECTORY_H_
