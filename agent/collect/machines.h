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

// Each machine has its own thread, so a machine that does not answer delays no
// other. Thread-safe.
class Machines {
 public:
  struct Options {
    std::string own;  // the agent's own machine
    std::unique_ptr<Source> own_source;
    // Opens another machine's source.
    std::function<absl::StatusOr<std::unique_ptr<Source>>(
        const std::string& machine)>
        open_remote;
    // Returns OK if the agent may report the machine; otherwise the reason.
    std::function<absl::Status(const std::string& machine)> check_name;
    Delivery* delivery = nullptr;
    const Clock* clock = &Clock::Real();
    std::unique_ptr<Capture> capture;    // of the own machine; may be null
    CollectionCounts* counts = nullptr;  // may be null
  };

  // Throws std::system_error if the system starts no thread.
  explicit Machines(Options options);
  ~Machines();

  // Replaces the plan. Failures are retried.
  void Apply(Plan plan);

  // Returns the reports of the last applied plan. Queries of machines that do
  // not answer within several seconds report an error.
  // Empty after Stop.
  std::vector<QueryReport> Reports();

  // Returns the current instances of a counterset. An empty `machine` is the
  // agent's own.
  absl::StatusOr<std::vector<perflib::InstanceName>> EnumerateInstances(
      const std::string& machine, const perflib::Guid& counterset);

  // Ends all collection permanently.
  void Stop();

  // Returns the countersets of the own machine found so far.
  std::vector<perflib::CountersetRegistration> registrations() const;

 private:
  // Shared, because callers wait for a machine without holding the mutex.
  struct Machine {
    std::shared_ptr<Source> source;
    std::shared_ptr<Collection> collection;
  };

  // Throws std::system_error if the system starts no thread.
  void Add(const std::string& name, std::unique_ptr<Source> source,
           std::unique_ptr<Capture> capture)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status AddRemote(const std::string& name)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Opens new machines and returns the ones that the plan no longer names.
  std::map<std::string, Machine> AddAndRemove(const Plan& plan)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Options options_;
  mutable absl::Mutex mutex_;
  std::map<std::string, Machine> machines_ ABSL_GUARDED_BY(mutex_);
  // Reports of machines that cannot be collected from.
  std::vector<QueryReport> refusals_ ABSL_GUARDED_BY(mutex_);
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_COLLECT_MACHINES_H_
