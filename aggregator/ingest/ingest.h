// Receives batches from all agents: tracks connected agents, passes batches to
// subscribers and the store, and acknowledges durable batches.
//
// Invariants:
// - Each agent has at most one registered Session. A new stream of the same
//   agent process replaces the old one; a stream of another process with the
//   same name is refused.
// - An Epoch is owned by the newest session that announced it. Only that
//   session takes its batches and gets its acknowledgments.
// - A batch is acknowledged only after its commit. If a commit fails, all its
//   epochs are broken and their streams end; agents resend on a new stream.
// - A batch goes to the commit queue before the observer, so a task passed to
//   AfterCommits runs after the commit of any batch the observer missed.

#ifndef FLEETPERF_AGGREGATOR_INGEST_INGEST_H_
#define FLEETPERF_AGGREGATOR_INGEST_INGEST_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/random/random.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "aggregator/ingest/agent_limits.h"
#include "aggregator/ingest/certificate_budgets.h"
#include "aggregator/ingest/commit_queue.h"
#include "aggregator/ingest/epoch.h"
#include "aggregator/ingest/instance_requests.h"
#include "aggregator/ingest/known_agents.h"
#include "aggregator/ingest/name_conflicts.h"
#include "aggregator/ingest/rate_budget.h"
#include "aggregator/ingest/session.h"
#include "aggregator/plan/planner.h"
#include "aggregator/store/store.h"
#include "base/logging.h"
#include "base/os/clock.h"
#include "perflib/guid.h"

namespace fleetperf::aggregator {

// Receives batches in addition to the store. Implementations must be
// thread-safe: threads of different streams call them concurrently, IsWatched
// with a session's lock held.
class BatchObserver {
 public:
  virtual ~BatchObserver() = default;
  // Called with each new batch, which may not be durable yet. Must not block.
  virtual void OnBatch(std::shared_ptr<const ReceivedBatch> batch) = 0;
  // Returns whether any subscriber watches this machine.
  virtual bool IsWatched(const std::string& machine) = 0;
};

// Thread-safe.
class Ingest {
 public:
  // All arguments must outlive the ingest.
  Ingest(Store* store, BatchObserver* observer, const Planner* planner,
         const IngestLimits& limits, const Clock* clock = &Clock::Real());
  ~Ingest();

  // The state of a machine's agent while its stream is open.
  struct Connection {
    std::string agent;
    std::string address;
    absl::Duration skew;          // the machine's clock minus the aggregator's
    absl::Duration batch_period;  // maximum wait of a tick at the agent
    // Whether the stream brought samples of the machine, since its plan changed
    // if it did.
    bool has_samples = false;
    // The address of another agent of the same name in the last ten minutes,
    // which was refused, or whose stream and the present one replaced each
    // other; "" for none.
    std::string conflicting_address;
    uint64_t rejected_batches = 0;
    std::map<std::string, uint64_t> limits_broken;
    // The agent's report on its plan; nullptr if not received yet.
    std::shared_ptr<const v1::PlanReport> plan_report;
    // Of the certificate with which the agent connected; nullopt: unknown.
    std::optional<absl::Time> certificate_expires;
  };
  // Returns std::nullopt if no connected agent speaks for the machine.
  std::optional<Connection> FindConnection(const std::string& machine) const;
  // Same, for the fields that every query needs of every machine.
  struct Timing {
    absl::Duration skew;
    absl::Duration batch_period;
  };
  std::optional<Timing> FindTiming(const std::string& machine) const;

  // Returns the age of a connected machine's newest sample beyond the time that
  // samples are held for batching.
  absl::Duration LagOf(absl::Time newest_sample, const Timing& timing) const;
  struct Lags {
    absl::Duration longest;
    uint64_t behind = 0;  // agents with a lag of more than a minute
  };
  // Returns the lags of the connected agents' own machines.
  Lags lags() const;

  // Totals since the start, and the present value of `agents`.
  struct Counts {
    uint64_t agents = 0;  // with an open stream
    uint64_t batches = 0;
    uint64_t samples = 0;
    uint64_t rejected_batches = 0;
    uint64_t lost_ticks = 0;  // as agents report them, and rejected ones
    uint64_t pauses = 0;      // requested from agents
    uint64_t conflicts = 0;   // agents refused because their name was taken
    // Streams replaced by one of another process or from another host.
    uint64_t replacements = 0;
    CommitQueue::Counts commits;
  };
  Counts counts() const;

  using InstanceNames = InstanceRequests::InstanceNames;
  // Asks the machines' agents, concurrently, for the present instances of a
  // counterset. Returns their answers in the order of `machines`. Errors:
  // Unavailable if an agent is not connected or cannot list the instances,
  // DeadlineExceeded if it does not answer in time.
  std::vector<InstanceNames> EnumerateInstances(
      const std::vector<std::string>& machines, const perflib::Guid& counterset,
      absl::Duration timeout);

  // Returns the connected agents whose name another agent has, too, by name.
  std::vector<std::string> conflicting_agents() const;

  // Returns OK if batches can be stored, as far as is known: the last commit
  // succeeded, and there is space for another one. The aggregator commits its
  // own counters every ten seconds, so the answer is not older.
  absl::Status CheckReady() const;

  // Returns whether an agent that speaks for the machine is connected.
  bool IsConnected(const std::string& machine) const;

  // Removes machines from the fleet, all or none (Store::ForgetMachines); only
  // checks if `dry_run`. Returns FailedPrecondition if an agent that speaks for
  // one of them is connected, NotFound if there is no such machine, and
  // Unavailable while another call forgets it.
  absl::Status ForgetMachines(const std::set<std::string>& machines,
                              bool dry_run);

  // Tells agents whether to send each tick at once. Called when the set of
  // watched machines changes.
  void UpdatePaces();

  // Sends the plans to all agents whose plan has changed.
  void UpdatePlans();

  // The methods below are called by sessions.

  const IngestLimits& limits() const { return limits_; }
  Store& store() { return store_; }
  const Planner& planner() const { return planner_; }
  LogOncePerCause& log() { return log_; }

  const Clock& clock() const { return clock_; }
  // Clock::Monotonic().
  absl::Duration Now() const { return clock_.Monotonic(); }
  // Returns the time at which a session that begins now should ask its agent to
  // reconnect. Randomized to spread the load.
  absl::Duration NextReconnect();

  // Registers the agent's only session and ends the session that it replaces.
  // Returns AlreadyExists if another agent with the same name is connected, and
  // Unavailable while the agent's machine is being forgotten. Conflicts of
  // names are logged, counted and noted.
  absl::Status Register(const std::shared_ptr<Session>& session,
                        const v1::Hello& hello);
  // Removes the session. A no-op if another session has replaced it.
  void Unregister(const Session* session);
  // Returns the open epoch, or opens it in the store. If `is_new` is not null,
  // sets it to whether the store did not know the epoch.
  absl::StatusOr<std::shared_ptr<Epoch>> OpenEpoch(const std::string& agent,
                                                   uint64_t epoch,
                                                   bool* is_new = nullptr);
  // Returns whether definitions of the epoch are missing, in which case the
  // agent must send all of them.
  bool HasLostDictionary(const Epoch& epoch) const;
  void SetLostDictionary(const Epoch& epoch, bool lost);
  // Returns ResourceExhausted if the machine is not in the fleet and the fleet
  // is full.
  absl::Status CheckMachineLimit(const std::string& machine) const;
  // See KnownAgents. SetSpeaker also returns Unavailable while the machine is
  // being forgotten.
  absl::Status SetSpeaker(const std::string& machine, const std::string& agent);
  absl::Status Claim(const std::string& machine,
                     const perflib::Guid& counterset, const std::string& agent);
  // Passes a batch to the commit queue and, if it has new samples, to the
  // observer.
  void Accept(std::shared_ptr<const ReceivedBatch> batch);
  void CountSamples(uint64_t samples) { samples_ += samples; }
  void CountPause() { ++pauses_; }
  // Runs `task` once all batches accepted before are durable or have failed.
  void AfterCommits(std::function<void()> task);
  std::shared_ptr<CertificateBudgets> BudgetsOf(const PeerIdentity& peer) {
    return budgets_.Of(peer, Now());
  }
  // Charges samples from an agent that is behind. Returns how long the agent
  // must pause.
  absl::Duration ChargeCatchUp(double samples);
  // Handles an agent's answer to a request by EnumerateInstances.
  void TakeInstances(const std::string& agent, v1::InstanceList list);
  void UpdatePace(Session* session);

  // The amount of state kept about agents, apart from open streams.
  KnownAgents::Sizes sizes() const {
    absl::MutexLock lock(&mutex_);
    return agents_.sizes();
  }

 private:
  // Reports that an agent was refused because `current` has its name.
  absl::Status RefuseName(const Session& current, const std::string& address);
  // Reports that `session` has replaced another one, `is_conflict` says whether
  // they do so in turns.
  void LogReplaced(const Session& replaced, const Session& session,
                   bool is_conflict);
  void OnCommit(CommitQueue::Batches batches, const absl::Status& status);
  // Removes expired entries of `epochs_`. Rate-limited, because it scans all of
  // them.
  void ForgetClosedEpochs() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::vector<std::shared_ptr<Session>> Sessions() const;
  // Returns the session of the machine's own agent, or of another agent that
  // speaks for the machine. Returns nullptr if neither is connected.
  std::shared_ptr<Session> SessionOf(const std::string& machine) const;
  std::shared_ptr<Session> FindSession(const std::string& machine) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Checks that no agent that speaks for the machine is connected, and that no
  // other call forgets it.
  absl::Status CheckMayForget(const std::string& machine) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status CheckNotForgetting(const std::string& machine) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Store& store_;
  BatchObserver& observer_;
  const Planner& planner_;
  const IngestLimits limits_;
  const Clock& clock_;
  RateBudget catch_up_;
  BudgetTable budgets_;
  LogOncePerCause log_;

  std::atomic<uint64_t> batches_ = 0;
  std::atomic<uint64_t> samples_ = 0;
  std::atomic<uint64_t> rejected_batches_ = 0;
  std::atomic<uint64_t> lost_ticks_ = 0;
  std::atomic<uint64_t> pauses_ = 0;
  std::atomic<uint64_t> conflicts_ = 0;
  std::atomic<uint64_t> replacements_ = 0;

  mutable absl::Mutex mutex_;
  std::map<std::string, std::shared_ptr<Session>> sessions_
      ABSL_GUARDED_BY(mutex_);  // by agent
  std::map<std::pair<std::string, uint64_t>, std::weak_ptr<Epoch>> epochs_
      ABSL_GUARDED_BY(mutex_);
  // The size of `epochs_` after the last sweep.
  size_t open_epochs_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Duration next_sweep_ ABSL_GUARDED_BY(mutex_);
  KnownAgents agents_ ABSL_GUARDED_BY(mutex_);
  NameConflicts name_conflicts_ ABSL_GUARDED_BY(mutex_);
  // Machines that the store is removing, without the lock.
  std::set<std::string> forgetting_ ABSL_GUARDED_BY(mutex_);
  absl::BitGen random_ ABSL_GUARDED_BY(mutex_);
  InstanceRequests instance_requests_{&clock_};
  LogOncePerCause connection_log_{absl::Minutes(1)};  // by agent

  CommitQueue commits_;  // last: its thread uses the other members
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_INGEST_INGEST_H_
