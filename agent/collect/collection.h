// The thread that takes a machine's ticks when they are due.

#ifndef FLEETPERF_AGENT_COLLECT_COLLECTION_H_
#define FLEETPERF_AGENT_COLLECT_COLLECTION_H_

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "agent/collect/collector.h"
#include "agent/collect/plan.h"
#include "agent/collect/schedule.h"
#include "agent/deliver/delivery.h"
#include "agent/source/source.h"
#include "base/backoff.h"
#include "base/clock.h"
#include "base/logging.h"
#include "base/wakeup.h"

namespace fleetperf::agent {

// What became of one query of a plan.
struct QueryReport {
  size_t query = 0;        // its position in the plan
  std::string counterset;  // empty if none matched
  std::string error;       // empty if all is well
};

// Finds out which countersets the source has, at its start and from time to
// time, and collects those that the plan names. What fails is tried again:
// countersets come with software that is installed later, and handles go stale
// when it is updated. Ticks that a source owes are counted as lost.
//
// Thread-safe, but for Apply and Await, which one thread calls.
class Collection {
 public:
  struct Options {
    std::string machine;
    Source* source = nullptr;
    Delivery* delivery = nullptr;
    const Clock* clock = &Clock::Real();
    std::unique_ptr<Capture> capture;  // keeps the blocks; may be null
  };

  explicit Collection(Options options);
  ~Collection();

  // Makes the thread end after the call of the source that it is at.
  void BeginStop();
  // The same, and waits for it.
  void Stop();

  // Replaces what is collected, between two ticks. What goes on being collected
  // at the same interval loses no tick, and no instance begins a new life.
  void Apply(Plan plan);

  // What is known of the plan that was applied last. Waits until it was tried,
  // but not longer than `timeout`; then that is an error of each query.
  std::vector<QueryReport> Await(absl::Duration timeout);

  // The source's countersets, as far as they are known.
  std::vector<perflib::CountersetRegistration> registrations() const;

 private:
  struct Group {
    absl::Duration interval;
    // Empty while the source's countersets are not known: only its ticks are
    // counted.
    std::vector<ResolvedQuery> queries;
    Schedule schedule;
    std::unique_ptr<Collector> collector = nullptr;  // null: no handle
    std::vector<std::string> problems = {};          // of opening it
    std::vector<size_t> failing = {};  // positions of queries without samples
    // When it is opened again; nothing while all is well.
    std::optional<absl::Duration> reopening = std::nullopt;
    Backoff backoff;
  };

  void Run();
  // Sleeps until something is due, a plan is waiting or the end. False at the
  // end.
  bool WaitForWork();
  void FindCountersets();
  // Whether the source has ever told them, or has not been asked yet.
  bool KnowsCountersets() const;
  // Makes the groups those of the plan and the registrations. A group that
  // stays the same is left alone.
  void Regroup();
  std::vector<Group> TakeGroupsThatStay(std::vector<ResolvedQuery>* queries);
  void UpdateReports(const Resolution& resolution);
  void AddMergedQueries(std::vector<QueryReport>* reports) const;
  void Open(Group& group);
  void TakeDueTicks();
  // False if the source gave no block.
  bool TakeTick(Group& group);
  void SetHealth(Group& group, bool is_well);
  void Reopen(Group& group);
  // Gives queries that bring no samples a handle of their own, so that opening
  // it again costs the others nothing.
  void SplitOff(Group& group);
  // Whether a counterset of a query that fails was registered anew.
  bool ReloadRegistrations(const Group& group);
  void ReportLoss(const Group& group, int64_t ticks, LossCause cause);

  const Options options_;
  LogOncePerCause log_;
  // Used by the thread alone.
  MachineInstances instances_;
  Plan plan_;
  absl::Status source_status_;  // why the countersets are not known
  std::vector<Group> groups_;
  absl::Duration next_search_;
  Backoff search_backoff_;
  bool must_regroup_ = false;
  std::vector<Group> split_off_;  // to become groups after this round of ticks
  std::atomic<bool> stopping_ = false;

  mutable absl::Mutex mutex_;
  Wakeup wakeup_{options_.clock};
  // Changed by the thread alone.
  std::vector<perflib::CountersetRegistration> registrations_
      ABSL_GUARDED_BY(mutex_);
  std::vector<QueryReport> reports_ ABSL_GUARDED_BY(mutex_);
  std::optional<Plan> new_plan_ ABSL_GUARDED_BY(mutex_);
  bool is_applied_ ABSL_GUARDED_BY(mutex_) = true;
  std::vector<size_t> awaited_queries_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_COLLECT_COLLECTION_H_
