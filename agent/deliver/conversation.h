// One stream to an aggregator, without the transport: produces the agent's
// messages and handles the answers.
//
//   Hello ─▶ Welcome ─▶ dictionaries, catalogue ─▶ batches and answers
//
// Invariants:
// - No batch is sent before Welcome, nor before the dictionaries of its epoch.
// - Batches are sent in the order of the spool, oldest first. The aggregator
//   limits how many are unacknowledged at a time.
// - A batch stays in the spool until it is acknowledged or rejected, or the
//   spool drops it. A new conversation resumes after the batches that the
//   aggregator's store has.
// - Only epochs named in Hello are sent. Batches of other epochs wait for the
//   next conversation.
// - An answer removes only batches that the aggregator may have.

#ifndef FLEETPERF_AGENT_DELIVER_CONVERSATION_H_
#define FLEETPERF_AGENT_DELIVER_CONVERSATION_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "agent/deliver/catalogue.h"
#include "agent/deliver/delivery.h"
#include "base/logging.h"
#include "base/os/clock.h"
#include "fleetperf/v1/collection.pb.h"
#include "perflib/guid.h"
#include "perflib/query.h"

namespace fleetperf::agent {

// The agent's identity, and the requests that it can answer.
struct AgentDescription {
  std::string agent;
  std::string operating_system;
  std::map<std::string, std::string> labels;
  Delivery* delivery = nullptr;
  // Returns the current catalogue. Called once per connection.
  std::function<HashedCatalogue()> catalogue;
  // Answers EnumerateInstances for a machine (empty: the agent's own). May
  // block.
  std::function<absl::StatusOr<std::vector<perflib::InstanceName>>(
      const std::string& machine, const perflib::Guid& counterset)>
      enumerate_instances;
  // Applies a plan and returns its report. Called with null if the aggregator
  // has no plan, so that the agent's own is in force. May block.
  std::function<v1::PlanReport(const v1::Plan* plan)> apply_plan;
  // Returns the report again if it has changed. Called every ten seconds, on
  // the thread that applies plans. May block.
  std::function<std::optional<v1::PlanReport>()> changed_report = [] {
    return std::nullopt;
  };
  // Called after a stream has ended, on the thread that applies plans.
  std::function<void()> on_disconnect = [] {};
  const Clock* clock = &Clock::Real();
};

// Thread-safe. No function waits for another function's read of the spool's
// file.
class Conversation {
 public:
  // Queues Hello, for which it reads the spool's files. `agent` and `log` must
  // outlive the conversation. All conversations of an agent share a log, which
  // limits the rate of their warnings.
  Conversation(const AgentDescription* agent, LogOncePerCause* log);

  // Returns the next message to send; std::nullopt if there is none. May wait
  // for the spool's files.
  std::optional<v1::CollectRequest> Next();
  // Same as Next(), but never waits for the file. If Next() would have to read
  // the file, returns std::nullopt and sets `must_read`.
  std::optional<v1::CollectRequest> NextFromMemory(bool* must_read);

  // Returns whether Handle() of this message may wait for the spool's files or
  // compress a batch. Call Handle() for such messages, and run the work it
  // returns, in order on a thread that may block. All other messages can be
  // handled at once.
  static bool TakesLong(const v1::CollectResponse& response);

  // Handles a message. Returns the remaining work, which may block for long, or
  // null. The caller runs it and passes the result to Say().
  using Work = std::function<v1::CollectRequest()>;
  Work Handle(const v1::CollectResponse& response);
  // Queues a message that is sent before all batches.
  void Say(v1::CollectRequest request);

  // The rest of the pause that the aggregator requested; infinite if there is
  // none.
  absl::Duration pause_left() const;
  bool is_welcome() const;
  // Whether the aggregator has acknowledged or rejected a batch.
  bool got_through() const;
  // Whether the stream must end, so that the next stream starts with a new
  // Hello.
  bool must_reconnect() const;
  // Whether nothing is left to send or in flight.
  bool is_settled() const;

 private:
  v1::CollectRequest MakeHello();
  bool MaySend() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns false if the batch exceeds the aggregator's limits.
  bool Fits(const v1::Batch& batch) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes the first batch after a place from the spool.
  using TakeBatch =
      absl::FunctionRef<absl::StatusOr<std::optional<SpooledBatch>>(
          BatchPlace)>;
  std::optional<v1::CollectRequest> Next(TakeBatch take)
      ABSL_LOCKS_EXCLUDED(mutex_);
  v1::CollectRequest MessageOf(const SpooledBatch& spooled, uint64_t epoch)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Drops a batch that is too large and logs that.
  void Refuse(const SpooledBatch& spooled);
  void HandleWelcome(const v1::Welcome& welcome) ABSL_LOCKS_EXCLUDED(mutex_);
  // Returns an error if an epoch of Hello is missing: the batches of that epoch
  // that arrived are then unknown.
  absl::Status CheckNamesEpochs(const v1::Welcome& welcome) const;
  // Returns the messages that must precede the batches of these epochs.
  absl::StatusOr<std::vector<v1::CollectRequest>> Resume(
      const v1::Welcome& welcome) ABSL_LOCKS_EXCLUDED(mutex_);
  // Reports batches of an epoch that the store has lost.
  void CheckReceipts(const std::string& store_id, const v1::EpochState& state);
  absl::Status AddDictionary(uint32_t number, uint64_t epoch,
                             std::vector<v1::CollectRequest>* to_say) const;
  void RequestReconnect(const absl::Status& reason)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns the number of an epoch that Hello named.
  std::optional<uint32_t> NumberOf(uint64_t epoch) const;
  // Returns whether the aggregator may have the batch that it acknowledges or
  // rejects. Warns if it cannot.
  bool MayAnswer(BatchPlace place) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void HandleAck(const v1::Ack& ack) ABSL_LOCKS_EXCLUDED(mutex_);
  void HandleReject(const v1::Reject& reject) ABSL_LOCKS_EXCLUDED(mutex_);
  void HandleThrottle(const v1::Throttle& throttle) ABSL_LOCKS_EXCLUDED(mutex_);
  v1::CollectRequest Enumerate(const v1::EnumerateInstances& question) const;

  const AgentDescription& agent_;
  Spool& spool_;
  const HashedCatalogue catalogue_;
  LogOncePerCause& log_;
  // The ids of the epochs that Hello named, by number. Never changes.
  std::map<uint32_t, uint64_t> epochs_;

  mutable absl::Mutex mutex_;
  std::deque<v1::CollectRequest> control_ ABSL_GUARDED_BY(mutex_);
  std::string store_id_ ABSL_GUARDED_BY(mutex_);
  v1::Limits limits_ ABSL_GUARDED_BY(mutex_);
  BatchPlace sent_ ABSL_GUARDED_BY(mutex_);
  std::deque<BatchPlace> in_flight_ ABSL_GUARDED_BY(mutex_);
  absl::Duration paused_until_ ABSL_GUARDED_BY(mutex_);
  bool is_welcome_ ABSL_GUARDED_BY(mutex_) = false;
  bool got_through_ ABSL_GUARDED_BY(mutex_) = false;
  bool must_reconnect_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_DELIVER_CONVERSATION_H_
