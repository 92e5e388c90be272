// The machines that an agent collects from: its own and those that its plan
// names.

#ifndef FLEETPERF_AGENT_COLLECT_MACHINES_H_
#define FLEETPERF_AGENT_COLLECT_MACHINES_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "agent/collect/collection.h"
#include "agent/collect/plan.h"
#include "perflib/query.h"

namespace fleetperf::agent {

// Each machine has a thread of its own, so that one which does not answer
// delays no other. Thread-safe.
class Machines {
 public:
  struct Options {
    std::string own;  // the agent's own name
    std::unique_ptr<Source> own_source;
    // Another machine's source.
    std::function<absl::StatusOr<std::unique_ptr<Source>>(
        const std::string& machine)>
        open_remote;
    // Whether the agent may speak for a machine; the error says why not.
    std::function<absl::Status(const std::string& machine)> check_name;
    Delivery* delivery = nullptr;
    const Clock* clock = &Clock::Real();
    std::unique_ptr<Capture> capture;  // of the own machine; may be null
  };

  explicit Machines(Options options);
  ~Machines();

  // Replaces what is collected. What fails is tried again.
  void Apply(Plan plan);

  // What is known of the plan that was applied last; of machines that do not
  // answer within a few seconds, that they have not.
  std::vector<QueryReport> Reports();

  // Which instances a counterset of a machine (empty: the own) has now.
  absl::StatusOr<std::vector<perflib::InstanceName>> EnumerateInstances(
      const std::string& machine, const perflib::Guid& counterset);

  // Ends all collecting for good.
  void Stop();

  // The own machine's countersets, as far as they are known.
  std::vector<perflib::CountersetRegistration> registrations() const;

 private:
  // Shared, because nobody waits for a machine with the mutex held.
  struct Machine {
    std::shared_ptr<Source> source;
    std::shared_ptr<Collection> collection;
  };

  void Add(const std::string& name, std::unique_ptr<Source> source,
           std::unique_ptr<Capture> capture)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<std::unique_ptr<Source>> OpenRemote(
      const std::string& name) const;
  // Opens those that are new and returns those that are not named any more.
  std::map<std::string, Machine> AddAndRemove(const Plan& plan)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Options options_;
  mutable absl::Mutex mutex_;
  std::map<std::string, Machine> machines_ ABSL_GUARDED_BY(mutex_);
  // Of machines that cannot be collected from at all.
  std::vector<QueryReport> refusals_ ABSL_GUARDED_BY(mutex_);
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_COLLECT_MACHINES_H_
