// Takes in what agents send: knows who is connected, hands batches to
// subscribers and the store, and acknowledges what is durable.

#ifndef FLEETPERF_AGGREGATOR_INGEST_INGEST_H_
#define FLEETPERF_AGGREGATOR_INGEST_INGEST_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
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
#include "aggregator/ingest/commit_queue.h"
#include "aggregator/ingest/epoch.h"
#include "aggregator/ingest/known_agents.h"
#include "aggregator/ingest/rate_budget.h"
#include "aggregator/ingest/session.h"
#include "aggregator/plan/planner.h"
#include "aggregator/store/store.h"
#include "base/clock.h"
#include "base/logging.h"
#include "base/wakeup.h"
#include "perflib/guid.h"
#include "perflib/query.h"

namespace fleetperf::aggregator {

// Where batches go besides the store.
class BatchObserver {
 public:
  virtual ~BatchObserver() = default;
  // A batch that is new. It need not be durable yet. Must not block.
  virtual void OnBatch(std::shared_ptr<const ReceivedBatch> batch) = 0;
  // Whether somebody watches this machine.
  virtual bool IsWatched(const std::string& machine) = 0;
};

// Thread-safe.
class Ingest {
 public:
  // All of them outlive it.
  Ingest(Store* store, BatchObserver* observer, const Planner* planner,
         const IngestLimits& limits, const Clock* clock = &Clock::Real());
  ~Ingest();

  // What is known of a machine's agent while its stream is open.
  struct Connection {
    std::string agent;
    std::string address;
    absl::Duration skew;
    absl::Duration batch_period;  // how long a tick may wait at the agent
    uint64_t rejected_batches = 0;
    std::map<std::string, uint64_t> limits_broken;
    // What became of its plan; null if it has not told.
    std::shared_ptr<const v1::PlanReport> plan_report;
  };
  std::optional<Connection> FindConnection(const std::string& machine) const;

  // Since the start; agents: now.
  struct Counts {
    uint64_t agents = 0;  // whose stream is open
    uint64_t batches = 0;
    uint64_t samples = 0;
    uint64_t rejected_batches = 0;
    uint64_t pauses = 0;  // that agents were asked for
    CommitQueue::Counts commits;
  };
  Counts counts() const;

  using InstanceNames = absl::StatusOr<std::vector<perflib::InstanceName>>;
  // Asks the machines' agents, all at once, which instances a counterset has
  // now. Their answers are in the order of `machines`. Errors: Unavailable if
  // an agent is not connected, DeadlineExceeded if it does not answer in time.
  std::vector<InstanceNames> EnumerateInstances(
      const std::vector<std::string>& machines, const perflib::Guid& counterset,
      absl::Duration timeout);

  // What is watched has changed: tells agents how soon samples are wanted.
  void UpdatePaces();

  // Plans have changed: sends them to those agents whose it has.
  void UpdatePlans();

  // Called by sessions.

  const IngestLimits& limits() const { return limits_; }
  Store& store() { return store_; }
  const Planner& planner() const { return planner_; }
  LogOncePerCause& log() { return log_; }

  const Clock& clock() const { return clock_; }
  // Clock::Monotonic().
  absl::Duration Now() const { return clock_.Monotonic(); }
  // When a session that begins now ends, so that load spreads.
  absl::Duration NextReconnect();

  // Enters a session as the agent's only one. AlreadyExists if a live one of
  // another agent has its name.
  absl::Status Register(const std::shared_ptr<Session>& session,
                        const v1::Hello& hello);
  void Unregister(const Session* session);
  absl::StatusOr<std::shared_ptr<Epoch>> OpenEpoch(const std::string& agent,
                                                   uint64_t epoch);
  // Whether definitions of the epoch are missing, so that the agent must send
  // them all.
  bool HasLostDictionary(const Epoch& epoch) const;
  void SetLostDictionary(const Epoch& epoch, bool lost);
  // Whether a machine may be entered into the fleet, or is there already. Else
  // ResourceExhausted.
  absl::Status CheckRoomFor(const std::string& machine) const;
  // See KnownAgents.
  absl::Status SetSpeaker(const std::string& machine, const std::string& agent);
  absl::Status Claim(const std::string& machine,
                     const perflib::Guid& counterset, const std::string& agent);
  void Accept(std::shared_ptr<const ReceivedBatch> batch);
  // What has come, or was asked of an agent.
  void CountSamples(uint64_t samples) { samples_ += samples; }
  void CountPause() { ++pauses_; }
  // Runs `task` when what was accepted before is durable, or cannot be.
  void AfterCommits(std::function<void()> task);
  std::shared_ptr<AgentBudgets> BudgetsOf(const std::string& agent);
  // Samples of an agent that is behind have come. How long it has to pause.
  absl::Duration ChargeCatchUp(double samples);
  // The answer of a session's agent to a question it was asked.
  void TakeInstances(const std::string& agent, v1::InstanceList list);
  void UpdatePace(Session* session);

  // How much is kept of what agents say, besides open streams.
  KnownAgents::Sizes sizes() const {
    absl::MutexLock lock(&mutex_);
    return agents_.sizes();
  }

 private:
  struct Question {
    std::string agent;
    uint64_t id = 0;  // 0: it was not asked
    std::optional<v1::InstanceList> answer;
  };

  // Asks the agent of `question`, if it is connected.
  void Ask(const std::string& machine, const perflib::Guid& counterset,
           Question* question);

  void OnCommit(CommitQueue::Batches batches, const absl::Status& status);
  // Now and then: it looks at all of them.
  void ForgetClosedEpochs() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::vector<std::shared_ptr<Session>> Sessions() const;
  // The machine's own agent's, or another's that speaks for it.
  std::shared_ptr<Session> SessionOf(const std::string& machine) const;

  Store& store_;
  BatchObserver& observer_;
  const Planner& planner_;
  const IngestLimits limits_;
  const Clock& clock_;
  RateBudget catch_up_;
  LogOncePerCause log_;

  std::atomic<uint64_t> batches_ = 0;
  std::atomic<uint64_t> samples_ = 0;
  std::atomic<uint64_t> rejected_batches_ = 0;
  std::atomic<uint64_t> pauses_ = 0;

  mutable absl::Mutex mutex_;
  std::map<std::string, std::shared_ptr<Session>> sessions_
      ABSL_GUARDED_BY(mutex_);  // by agent
  std::map<std::pair<std::string, uint64_t>, std::weak_ptr<Epoch>> epochs_
      ABSL_GUARDED_BY(mutex_);
  size_t open_epochs_ ABSL_GUARDED_BY(mutex_) = 0;  // when last looked
  absl::Duration next_look_ ABSL_GUARDED_BY(mutex_);
  KnownAgents agents_ ABSL_GUARDED_BY(mutex_);
  std::map<uint64_t, Question*> questions_ ABSL_GUARDED_BY(mutex_);
  uint64_t next_question_ ABSL_GUARDED_BY(mutex_) = 1;
  absl::BitGen random_ ABSL_GUARDED_BY(mutex_);
  Wakeup answered_{&clock_};

  CommitQueue commits_;  // last: its thread uses the others
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_INGEST_INGEST_H_
