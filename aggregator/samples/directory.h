// The machines of the fleet and the data collected from them.

#ifndef FLEETPERF_AGGREGATOR_SAMPLES_DIRECTORY_H_
#define FLEETPERF_AGGREGATOR_SAMPLES_DIRECTORY_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "aggregator/samples/counterset_list.h"
#include "aggregator/samples/frame.h"
#include "aggregator/samples/label_rules.h"
#include "aggregator/samples/labels.h"
#include "aggregator/samples/query_ticks.h"
#include "perflib/path.h"

namespace fleetperf::v1 {
class Machine;
}  // namespace fleetperf::v1

namespace fleetperf::aggregator {

struct StoredMachine;

// Thread-safe.
class Directory {
 public:
  // Registers a machine of the fleet. The aggregator's own machine has samples,
  // but is not registered unless an agent collects from it, too.
  void AddMachine(const std::string& machine);
  // Same, with the machine's agent, that agent's labels, and the key of its
  // certificate.
  void AddMachine(const StoredMachine& machine);
  // Hides a machine, with its present and later samples, until it is
  // registered again.
  void HideMachine(const std::string& machine);
  // Replaces the labels that the configuration sets. Matches each machine's
  // name once, without a lock. Must be called by one thread at a time.
  void SetLabelRules(LabelRules rules);
  // Sets a function to be called with the names of machines whose labels may
  // have changed; nullptr for none. The thread that makes the change calls it,
  // without the directory's locks. A call in progress may outlast its
  // replacement.
  using LabelsListener = std::function<void(std::vector<std::string> machines)>;
  void SetLabelsListener(LabelsListener listener);
  // Returns the ticks of the query, where the caller notes each tick.
  std::shared_ptr<QueryTicks> AddQuery(const CollectedQuery& query);
  void SetNewestSample(const std::string& machine, absl::Time time);

  // Returns all machines that have samples or are registered, and are not
  // hidden, ordered by name.
  std::vector<std::string> Machines() const;
  // Returns the machines with one of these names, regardless of case, in the
  // same order. The names must be in lower case.
  std::vector<std::string> MachinesNamed(
      const absl::flat_hash_set<std::string>& names) const;
  // Returns whether this machine, or any machine, is registered.
  bool HasMachine(const std::string& machine) const;
  bool HasMachines() const { return registered() > 0; }
  // The number of registered machines.
  size_t registered() const;
  // The number of machines that Machines() returns.
  size_t size() const;
  // Returns std::nullopt if the machine has no samples yet, or is hidden.
  std::optional<absl::Time> NewestSample(const std::string& machine) const;
  // Returns the names of all collected countersets, in order.
  std::vector<std::string> CountersetNames() const;
  // Returns whether a collected counterset of any machine has a counter,
  // collected or not, that matches the path.
  bool HasCounter(const perflib::Path& path) const;
  CountersetList Countersets(const std::string& machine) const;
  // Returns the machine's agent; "" if unknown.
  std::string AgentOf(const std::string& machine) const;
  // Returns who is accountable for the machine's samples: the key of its
  // agent's certificate. If that is unknown, the name of the agent or, without
  // one, of the machine. One certificate may have many agents.
  std::string HolderOf(const std::string& machine) const;
  // Returns the labels of the machine, the only ones that users and plans see.
  // The agent's own labels come first; the configuration then sets labels for
  // the agent's name, and after these for the machine's name. An agent has the
  // name of its own machine.
  Labels LabelsOf(const std::string& machine) const;
  // Replaces the labels of a description by those of LabelsOf.
  void ReplaceLabels(v1::Machine* machine) const;

  // Returns the counters of a machine's counterset that the plan in force
  // collects: those with a tick among the newest ones of the machine. The plan
  // of a machine without new ticks stays in force. Just after the start, all
  // counters count as collected.
  std::set<uint32_t> Collecting(const std::string& machine,
                                const CollectedCounterset& counterset) const;
  // Returns the newest known tick of a counter.
  std::optional<absl::Time> NewestTick(const std::string& machine,
                                       const Schema& schema,
                                       uint32_t counter_id) const;
  // Returns the known queries of a machine, also those that have ended.
  std::vector<std::shared_ptr<const QueryTicks>> QueriesOf(
      const std::string& machine) const;
  // Returns the longest interval of the known queries of a counterset that have
  // ticks which may begin a piece after `from`.
  absl::Duration LongestInterval(const std::string& machine,
                                 const Schema& schema, absl::Time from) const;

 private:
  struct Machine {
    bool is_entered = false;
    bool is_hidden = false;  // not with is_entered
    std::string agent;
    std::string certificate;  // the key of the agent's one
    Labels own_labels;        // as the agent of this name sent them
    Labels set_labels;        // by the configuration, for this name
    std::vector<std::shared_ptr<QueryTicks>> ticks;
    std::optional<absl::Time> newest_sample;
    CountersetList countersets;
  };

  const Machine* Find(const std::string& machine) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // Returns the machine, and adds it if it is new.
  Machine& Get(const std::string& machine)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns the name, and the names of the other machines that the agent of
  // this name collects from.
  std::vector<std::string> WithLabelsOf(const std::string& machine) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // Sets the machine's agent; "" for none.
  void SetAgent(const std::string& name, Machine* machine, std::string agent)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void NotifyListener(std::vector<std::string> machines)
      ABSL_LOCKS_EXCLUDED(mutex_);

  mutable absl::Mutex mutex_;
  std::map<std::string, Machine> machines_ ABSL_GUARDED_BY(mutex_);
  // The same machines, found faster.
  absl::flat_hash_map<absl::string_view, Machine*> by_name_
      ABSL_GUARDED_BY(mutex_);
  // Their names by the names in lower case.
  absl::flat_hash_map<std::string, std::vector<absl::string_view>>
      by_lower_name_ ABSL_GUARDED_BY(mutex_);
  // The other machines that agents collect from, by agent.
  absl::flat_hash_map<std::string, absl::flat_hash_set<std::string>> remote_
      ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<const LabelRules> label_rules_ ABSL_GUARDED_BY(mutex_) =
      std::make_shared<const LabelRules>();
  LabelsListener labels_listener_ ABSL_GUARDED_BY(mutex_);
  CountersetLists lists_ ABSL_GUARDED_BY(mutex_);
  size_t entered_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t hidden_ ABSL_GUARDED_BY(mutex_) = 0;
  // The counterset names of all machines, cached since every query needs them.
  std::set<std::string> counterset_names_ ABSL_GUARDED_BY(mutex_);
  // Their schemas, by hash.
  std::map<std::string, std::weak_ptr<const Schema>> schemas_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SAMPLES_DIRECTORY_H_
