// An agent's stream, without the transport: what each message means.

#ifndef FLEETPERF_AGGREGATOR_INGEST_SESSION_H_
#define FLEETPERF_AGGREGATOR_INGEST_SESSION_H_

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "aggregator/ingest/agent_link.h"
#include "aggregator/ingest/agent_machines.h"
#include "aggregator/ingest/epoch.h"
#include "aggregator/ingest/plan_exchange.h"
#include "aggregator/ingest/received_batch.h"
#include "aggregator/ingest/throttle.h"
#include "base/credentials.h"
#include "fleetperf/v1/collection.pb.h"
#include "fleetperf/v1/fleet.pb.h"

namespace fleetperf::aggregator {

class BatchObserver;
class Ingest;

class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(Ingest* ingest, PeerIdentity peer, std::string address,
          std::shared_ptr<AgentLink> link);

  // Takes a message. Called by one thread at a time. An error ends the stream
  // with that status.
  absl::Status Handle(v1::CollectRequest request);

  // The stream has ended.
  void Close();

  // The rest is thread-safe.

  const std::string& agent() const { return agent_; }
  uint64_t epoch_id() const { return epoch_id_; }
  // Whether the agent's process, or one that went on with its spool, made this
  // epoch.
  bool HasEpoch(uint64_t epoch) const { return epochs_.contains(epoch); }
  const std::string& address() const { return address_; }
  AgentLink& link() { return *link_; }

  // Its batches up to `sequence` are durable. After that is a moment to ask the
  // agent to connect again, if it is time.
  void Acknowledge(const Epoch& epoch, uint64_t sequence);
  // The loss of a batch that was rejected is durable.
  void SendReject(const ReceivedBatch& rejected);

  // Tells the agent whether it shall send each tick at once, if that changed.
  void UpdatePace(BatchObserver& observer);

  // Sends the agent its plan if that is not the one it has.
  void UpdatePlan() { plans_.Update(); }

  // Whether so much was received that is not durable yet that no more shall be
  // read for now.
  bool HasManyUnacknowledged() const;

  // Facts for the list of machines. The skew is the machine's clock minus ours.
  absl::Duration skew(const std::string& machine) const {
    return machines_.skew(machine);
  }
  // How long a tick may wait at the agent.
  absl::Duration batch_period() const { return batch_period_; }
  uint64_t rejected_batches() const;
  // How often limits were broken, by their names in Limits.
  std::map<std::string, uint64_t> limits_broken() const {
    return throttle_.limits_broken();
  }
  // What became of its plan; null if it has not told.
  std::shared_ptr<const v1::PlanReport> plan_report() const {
    return plans_.report();
  }

 private:
  absl::Status HandleHello(const v1::Hello& hello);
  absl::Status TakeEpochs(const v1::Hello& hello);
  v1::Welcome MakeWelcome(const v1::Hello& hello) const;
  void SendWelcome(const v1::Hello& hello);
  // An error if another stream of the agent has the epoch by now.
  absl::Status CheckHas(const Epoch& epoch) const;
  absl::Status HandleBatch(v1::Batch batch);
  absl::Status HandleDictionary(v1::Dictionary dictionary);
  absl::Status HandleCatalogue(const v1::Catalogue& catalogue);

  absl::Status TakeDefinitions(const BatchContents& contents,
                               ReceivedBatch* received);
  absl::Status TakeSamples(const absl::StatusOr<BatchContents>& contents,
                           ReceivedBatch* received);
  absl::Status Decode(Epoch& epoch, const BatchContents& contents,
                      ReceivedBatch* received);
  // Whether it is stored under the epoch that its own was forked from.
  // Unavailable if the store cannot tell.
  absl::StatusOr<bool> IsCopy(const ReceivedBatch& received) const;
  // Has the agent pause if it has sent more than it may.
  absl::Status Charge(const ReceivedBatch& received);
  bool IsBehind(const ReceivedBatch& received) const;
  void Reject(const absl::Status& reason, const BatchContents& contents,
              ReceivedBatch* received);
  // Leaves out what definitions must not have.
  void Bound(v1::Definitions* definitions);
  // Notes that the agent speaks for these machines, and enters those that are
  // new into the fleet.
  absl::Status EnterMachines(const std::set<std::string>& machines);
  // Definitions that are wrong are logged and left out: what uses them is
  // rejected then.
  absl::Status ApplyDefinitions(Epoch& epoch,
                                const v1::Definitions& definitions);

  Ingest& ingest_;
  const PeerIdentity peer_;
  const std::string address_;
  const std::shared_ptr<AgentLink> link_;

  // Set by Hello, before other threads see the session.
  std::string agent_;
  v1::Machine machine_;  // what the agent told of its own
  uint64_t epoch_id_ = 0;
  std::string catalogue_hash_;
  absl::Duration batch_period_;
  absl::Duration hello_skew_;  // the agent's clock minus ours
  absl::flat_hash_map<uint64_t, std::shared_ptr<Epoch>> epochs_;
  // Those that epochs were forked from, by the latter.
  absl::flat_hash_map<uint64_t, std::shared_ptr<Epoch>> origins_;
  // Epochs whose definitions came on this stream, all of them: an id that is
  // not defined now will never be.
  absl::flat_hash_set<uint64_t> complete_epochs_;
  size_t dictionary_instances_ = 0;  // of the dictionary that is coming
  AgentMachines machines_;
  Throttle throttle_;
  PlanExchange plans_;
  const absl::Duration reconnect_at_;  // Clock::Monotonic()

  mutable absl::Mutex mutex_;
  bool live_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t rejected_batches_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_INGEST_SESSION_H_
