// The registrations of a source's countersets: a machine gets new countersets
// with software that is installed later, and other registrations with updates.

#ifndef FLEETPERF_AGENT_COLLECT_KNOWN_COUNTERSETS_H_
#define FLEETPERF_AGENT_COLLECT_KNOWN_COUNTERSETS_H_

#include <atomic>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "agent/collect/plan.h"
#include "agent/collect/resolve.h"
#include "agent/source/source.h"
#include "base/backoff.h"
#include "base/logging.h"
#include "base/os/clock.h"
#include "perflib/registration.h"

namespace fleetperf::agent {

// Search must be called when it is due: at the start, and periodically. Only
// registrations() is thread-safe.
class KnownCountersets {
 public:
  // All of them must outlive the object.
  struct Options {
    std::string machine;
    Source* source = nullptr;
    const Clock* clock = nullptr;
    const std::atomic<bool>* stopping = nullptr;  // ends a search
    LogOncePerCause* log = nullptr;
  };

  explicit KnownCountersets(Options options);

  // Returns the countersets found so far.
  std::vector<perflib::CountersetRegistration> registrations() const;

  // Returns the time of the next search (Clock::Monotonic).
  absl::Duration next_search() const { return next_search_; }
  // Makes a search due if the last list lacks countersets that could not be
  // read.
  void RetryIncompleteSearch();
  // Lists the source's countersets, and reloads the registrations of those in
  // `collected` that differ from the source's, as after an update of their
  // provider. Returns whether the plan must be resolved again. Errors are
  // logged.
  bool Search(
      const std::vector<const perflib::CountersetRegistration*>& collected);

  // Replaces the registration of the counterset. Returns whether it differed.
  bool Reload(const perflib::CountersetRegistration& before);

  // Returns whether the countersets were ever listed, or no attempt was made
  // yet.
  bool IsListed() const;
  // Returns the error of the last search.
  const absl::Status& status() const { return status_; }

  // Defines the counters that only the plan names, and resolves the plan.
  Resolution Resolve(const Plan& plan);

 private:
  bool ReloadChanged(
      const std::vector<const perflib::CountersetRegistration*>& collected);
  // Drops the countersets that the source no longer has and whose names
  // countersets in `found` have: PerfLib V2 may serve one of V1 later.
  void WithdrawReplaced(
      const std::vector<perflib::CountersetRegistration>& found);

  const Options options_;
  absl::Status status_;
  bool has_problems_ = false;  // the last list lacks countersets
  absl::Duration next_search_;
  Backoff search_backoff_;

  mutable absl::Mutex mutex_;
  std::vector<perflib::CountersetRegistration> registrations_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_COLLECT_KNOWN_COUNTERSETS_H_
