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

// Thread-safe.
class Conversation {
 public:
  // Begins with Hello. What is said stays valid as long as the conversation.
  explicit Conversation(const AgentDescription* agent);

  // The next message to send; nothing while there is none.
  std::optional<v1::CollectRequest> Next();

  // Takes a message. What has to be done for it and may take long is returned:
  // whoever does it gives the result to Say. May be empty.
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
  v1::CollectRequest MakeHello() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool MaySend() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // False if it is larger than what the aggregator takes.
  bool Fits(const v1::Batch& batch) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::optional<v1::CollectRequest> NextBatch()
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void HandleWelcome(const v1::Welcome& welcome)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status SayDictionary(uint32_t epoch)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void BeginAnew(const absl::Status& reason)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Of an epoch that Hello named.
  std::optional<uint32_t> NumberOf(uint64_t epoch) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void HandleAck(const v1::Ack& ack) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void HandleReject(const v1::Reject& reject)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void HandleThrottle(const v1::Throttle& throttle)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  v1::CollectRequest Enumerate(const v1::EnumerateInstances& question) const;

  const AgentDescription& agent_;
  Spool& spool_;
  const HashedCatalogue catalogue_;
  LogOncePerCause log_;

  mutable absl::Mutex mutex_;
  std::deque<v1::CollectRequest> control_ ABSL_GUARDED_BY(mutex_);
  // The ids of the epochs that Hello named, by number.
  std::map<uint32_t, uint64_t> epochs_ ABSL_GUARDED_BY(mutex_);
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
