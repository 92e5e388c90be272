// One stream to an aggregator, without the transport: what the agent says, and
// what the answers mean.
//
//   Hello ─▶ Welcome ─▶ dictionaries, catalogue ─▶ batches and answers
//
// Batches go out in the order of the spool, the oldest first, as many at once
// as the aggregator lets be unacknowledged.

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
#include "base/clock.h"
#include "base/logging.h"
#include "fleetperf/v1/collection.pb.h"
#include "perflib/guid.h"
#include "perflib/query.h"

namespace fleetperf::agent {

// Who the agent is, and what it can be asked to do.
struct AgentDescription {
  std::string agent;
  std::string operating_system;
  std::map<std::string, std::string> labels;
  Delivery* delivery = nullptr;
  // What the agent could serve now; asked for at each connection.
  std::function<HashedCatalogue()> catalogue;
  // Answers EnumerateInstances of a machine (empty: the agent's own). May take
  // long.
  std::function<absl::StatusOr<std::vector<perflib::InstanceName>>(
      const std::string& machine, const perflib::Guid& counterset)>
      enumerate_instances;
  // Applies a plan and says what became of it; called with no value when the
  // aggregator has none, so that the agent's own is in force. May take long.
  std::function<v1::PlanReport(const v1::Plan* plan)> apply_plan;
  // Called when a stream has ended, by the thread that applies plans.
  std::function<void()> on_disconnect = [] {};
  const Clock* clock = &Clock::Real();
};

// Thread-safe. No function waits for what another one reads from the spool's
// file.
class Conversation {
 public:
  // Begins with Hello, for which it reads the spool's file. What is said stays
  // valid as long as the conversation.
  explicit Conversation(const AgentDescription* agent);

  // The next message to send; nothing while there is none. May wait for the
  // spool's file.
  std::optional<v1::CollectRequest> Next();
  // The same without the file: nothing, and `must_read` is set, if Next would
  // have to wait for it.
  std::optional<v1::CollectRequest> NextFromMemory(bool* must_read);

  // Whether a message may only be given to Handle by a thread that can wait for
  // the spool's file or compress a batch. Such messages are to be handled in
  // their order, also with the work that is returned for them; others at once.
  static bool TakesLong(const v1::CollectResponse& response);

  // Takes a message. What has to be done for it and may take longer still is
  // returned: whoever does it gives the result to Say. May be empty.
  using Work = std::function<v1::CollectRequest()>;
  Work Handle(const v1::CollectResponse& response);
  // Adds a message that goes before all batches.
  void Say(v1::CollectRequest request);

  // Of a pause that the aggregator asked for; infinite if there is none.
  absl::Duration pause_left() const;
  bool is_welcome() const;
  // Whether the aggregator took something.
  bool got_through() const;
  // Whether the stream must be ended, so that another one begins with another
  // Hello.
  bool must_begin_anew() const;
  // Whether nothing is left to send or to be acknowledged.
  bool is_settled() const;

 private:
  v1::CollectRequest MakeHello();
  bool MaySend() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // False if it is larger than what the aggregator takes.
  bool Fits(const v1::Batch& batch) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The first batch after a place, from the spool.
  using TakeBatch =
      absl::FunctionRef<absl::StatusOr<std::optional<SpooledBatch>>(
          BatchPlace)>;
  std::optional<v1::CollectRequest> Next(TakeBatch take)
      ABSL_LOCKS_EXCLUDED(mutex_);
  v1::CollectRequest MessageOf(const SpooledBatch& spooled, uint64_t epoch)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Drops a batch that is too large, and says so.
  void Refuse(const SpooledBatch& spooled);
  void HandleWelcome(const v1::Welcome& welcome) ABSL_LOCKS_EXCLUDED(mutex_);
  // What has to be said before batches of these epochs.
  absl::StatusOr<std::vector<v1::CollectRequest>> Resume(
      const v1::Welcome& welcome) ABSL_LOCKS_EXCLUDED(mutex_);
  // Tells what the store had of an epoch and does not have any more.
  void CheckReceipts(const std::string& store_id, const v1::EpochState& state);
  absl::Status AddDictionary(uint32_t number, uint64_t epoch,
                             std::vector<v1::CollectRequest>* to_say) const;
  void BeginAnew(const absl::Status& reason)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Of an epoch that Hello named.
  std::optional<uint32_t> NumberOf(uint64_t epoch) const;
  void HandleAck(const v1::Ack& ack) ABSL_LOCKS_EXCLUDED(mutex_);
  void HandleReject(const v1::Reject& reject) ABSL_LOCKS_EXCLUDED(mutex_);
  void HandleThrottle(const v1::Throttle& throttle) ABSL_LOCKS_EXCLUDED(mutex_);
  v1::CollectRequest Enumerate(const v1::EnumerateInstances& question) const;

  const AgentDescription& agent_;
  Spool& spool_;
  const HashedCatalogue catalogue_;
  LogOncePerCause log_;
  // The ids of the epochs that Hello named, by number. They stay.
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
  bool must_begin_anew_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_DELIVER_CONVERSATION_H_
