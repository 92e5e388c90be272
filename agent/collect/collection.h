// The thread that takes a machine's ticks when they are due.
//
// Invariants:
// - Queries with the same interval share a group, which has one query handle,
//   unless they are of the same counterset. A group of which some queries fail
//   is split into the failing ones and the others. A group whose handle fails
//   because of one query, as with a provider that hangs, is split into single
//   queries. They are merged again after minutes without failures, except those
//   that failed alone.
// - A group's queries never change: its handle and its failures refer to their
//   positions. A split replaces the group, once the handles of all parts are
//   open.
// - All groups of an interval share one schedule. Regrouping does not shift the
//   phase.
// - Every due tick is either delivered or reported as a loss, even while the
//   source's countersets are unknown.
// - Only the thread changes groups, instances and registrations. The mutex
//   guards the data shared with callers.

#ifndef FLEETPERF_AGENT_COLLECT_COLLECTION_H_
#define FLEETPERF_AGENT_COLLECT_COLLECTION_H_

#include <atomic>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "agent/collect/collector.h"
#include "agent/collect/known_countersets.h"
#include "agent/collect/plan.h"
#include "agent/collect/schedule.h"
#include "agent/deliver/delivery.h"
#include "agent/source/source.h"
#include "base/backoff.h"
#include "base/logging.h"
#include "base/os/clock.h"
#include "base/wakeup.h"

namespace fleetperf::agent {

// The result of one query of a plan.
struct QueryReport {
  size_t query = 0;        // its position in the plan
  std::string counterset;  // empty if none matched
  std::string error;       // empty on success
};

// Counts of all of an agent's collections. Thread-safe.
struct CollectionCounts {
  std::atomic<uint64_t> failing_queries = 0;  // at present
};

// Lists the source's countersets at the start and periodically afterwards, and
// collects those that the plan names. Failures are retried: software that is
// installed later brings new countersets, and updates make handles stale. Ticks
// that the source fails to deliver are counted as lost.
//
// Thread-safe, except that Apply and Await must be called by one thread.
class Collection {
 public:
  struct Options {
    std::string machine;
    Source* source = nullptr;
    Delivery* delivery = nullptr;
    const Clock* clock = &Clock::Real();
    std::unique_ptr<Capture> capture;    // records the blocks; may be null
    CollectionCounts* counts = nullptr;  // may be null
  };

  explicit Collection(Options options);
  ~Collection();

  // Makes the thread exit after the source call in progress. Never blocks.
  void BeginStop();
  // Makes the thread exit and waits for it.
  void Stop();

  // Replaces the plan between two ticks. Queries whose interval is unchanged
  // lose no tick, and their instances keep their lives.
  void Apply(Plan plan);

  // Returns the reports of the last applied plan. Blocks until the plan has
  // been tried, at most `timeout`. After the timeout, every query reports an
  // error.
  std::vector<QueryReport> Await(absl::Duration timeout);

  // Returns the source's countersets found so far.
  std::vector<perflib::CountersetRegistration> registrations() const;

 private:
  struct Group {
    absl::Duration interval;
    // Empty while the source's countersets are unknown. Only ticks are counted
    // then.
    const std::vector<ResolvedQuery> queries;
    Schedule schedule;
    std::unique_ptr<Collector> collector = nullptr;  // null: no handle
    std::vector<std::string> problems = {};          // from opening the handle
    // Queries without samples: their positions, and why.
    std::map<size_t, std::string> failing = {};
    // Why the last query of the handle failed as a whole. A late block is no
    // failure.
    absl::Status failure = absl::OkStatus();
    // The last time that it was Aborted.
    absl::Duration aborted = -absl::InfiniteDuration();
    // The time to reopen the handle; std::nullopt while all queries succeed.
    std::optional<absl::Duration> reopening = std::nullopt;
    Backoff backoff;
    bool is_split = false;    // other groups have its queries now
    bool is_apart = false;    // was split from others, and since then:
    bool has_failed = false;  // was Aborted
    bool has_worked = false;
    bool is_merging = false;  // the next Regroup merges it with others

    bool IsWell() const {
      return collector != nullptr && failure.ok() && failing.empty() &&
             !reopening.has_value();
    }
    // Whether the handle must not be queried before it is reopened: a query
    // would start a process, or connect to a machine.
    bool IsPaused() const {
      return (absl::IsAborted(failure) || absl::IsUnavailable(failure)) &&
             !collector->IsHanging();
    }
  };

  void Run();
  // Sleeps until work is due, a plan is waiting or the thread must stop.
  // Returns false at the stop.
  bool WaitForWork();
  void FindCountersets();
  // Rebuilds the groups from the plan and the registrations. Unchanged groups
  // are kept.
  void Regroup();
  void RemoveChangedGroups(std::vector<ResolvedQuery>* queries);
  void UpdateReports();
  void CountFailing(uint64_t failing);
  void AddMergedQueries(std::vector<QueryReport>* reports) const;
  void Open(Group& group);
  void TakeDueTicks();
  void TakeDueTick(Group& group);
  // Returns an error if there is no block: DeadlineExceeded if it may still
  // come.
  absl::Status TakeTick(Group& group);
  void NoteFailure(Group& group, const absl::Status& status);
  // Returns whether the process of the handle may have ended by chance, so that
  // another query is worth its start.
  bool MayRetry(const Group& group) const;
  // Moves each query to a group of its own.
  void SplitApart(Group& group);
  // Moves the failing queries to one group and the others to another, so that
  // reopening the handle of the first does not disturb the others.
  void SplitOff(Group& group);
  // Replaces the group by one for each of `parts`. Changes nothing if the
  // source opens no handle for one of them.
  void Split(Group& group, std::vector<std::vector<ResolvedQuery>> parts);
  // The groups of one kind could share a handle.
  std::pair<absl::Duration, int> KindOf(const Group& group) const;
  // Plans the time to merge groups that were split.
  void PlanMerge();
  void MergeGroups();
  // Remembers countersets that failed alone while others, which had the same
  // handle, did not.
  void RememberBadCountersets();
  // Sets the failing queries, and logs and reports their reasons.
  void SetFailing(Group& group, const BlockSamples& samples);
  void SetHealth(Group& group, bool is_well);
  void Reopen(Group& group);
  // Reloads the registrations of failing queries. Returns whether any changed.
  bool ReloadRegistrations(const Group& group);
  void ReportLoss(const Group& group, int64_t ticks, LossCause cause);

  const Options options_;
  LogOncePerCause log_;
  // Used by the thread only.
  MachineInstances instances_;
  Plan plan_;
  // A list, because splits add groups while a reference to one is in use.
  std::list<Group> groups_;
  bool must_regroup_ = false;
  absl::Duration next_merge_ = absl::InfiniteDuration();
  absl::Duration last_merge_ = -absl::InfiniteDuration();
  Backoff merge_backoff_;
  std::set<perflib::Guid> bad_;  // have handles of their own
  Resolution resolution_;        // of the plan
  bool must_report_ = false;     // the reports are out of date
  uint64_t failing_ = 0;         // counted in options_.counts
  std::atomic<bool> stopping_ = false;
  KnownCountersets known_;

  mutable absl::Mutex mutex_;
  Wakeup wakeup_{options_.clock};
  std::vector<QueryReport> reports_ ABSL_GUARDED_BY(mutex_);
  std::optional<Plan> new_plan_ ABSL_GUARDED_BY(mutex_);
  bool is_applied_ ABSL_GUARDED_BY(mutex_) = true;
  std::vector<size_t> awaited_queries_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_COLLECT_COLLECTION_H_
