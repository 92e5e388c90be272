// The protocol of an agent's stream, independent of the transport.
//
// Hello must come first. It names the agent and the epochs that it holds; the
// session takes ownership of these epochs. Welcome is sent once the batches of
// earlier streams are durable, and tells the agent which batches to resend.
//
// An error returned by Handle ends the stream. A batch that is itself at fault
// does not end the stream; see batch_receiver.h.

#ifndef FLEETPERF_AGGREGATOR_INGEST_SESSION_H_
#define FLEETPERF_AGGREGATOR_INGEST_SESSION_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "aggregator/ingest/agent_link.h"
#include "aggregator/ingest/agent_machines.h"
#include "aggregator/ingest/batch_receiver.h"
#include "aggregator/ingest/definition_receiver.h"
#include "aggregator/ingest/epoch.h"
#include "aggregator/ingest/plan_exchange.h"
#include "aggregator/ingest/received_batch.h"
#include "aggregator/ingest/throttle.h"
#include "base/tls/credentials.h"
#include "fleetperf/v1/collection.pb.h"
#include "fleetperf/v1/fleet.pb.h"

namespace fleetperf::aggregator {

class BatchObserver;
class Ingest;

// Thread-safe, except for Handle and Close.
class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(Ingest* ingest, PeerIdentity peer, std::string address,
          std::shared_ptr<AgentLink> link);

  // If the next message is larger than it may be, charges it as work of the
  // certificate and returns InvalidArgument, which must end the stream.
  absl::Status AdmitMessage(size_t bytes);
  // Handles a serialized message, whose size and elements are checked before it
  // is parsed. Otherwise like Handle.
  absl::Status HandleSerialized(absl::string_view message);
  // Handles a message. Must be called by one thread at a time. On error, the
  // stream must end with that status.
  absl::Status Handle(v1::CollectRequest request);

  // Returns the time for which the stream must not be read, because budgets of
  // the certificate are used up.
  absl::Duration Pause() const { return throttle_.debt().pause; }
  // Returns ResourceExhausted if Pause() is not 0.
  absl::Status CheckBudgets() const;
  // Returns whether the certificate has memory for one more batch. Until then,
  // the stream must not handle a message.
  bool HasRoom() const;

  // Unregisters the session. Called when the stream has ended.
  void Close();

  const std::string& agent() const { return agent_; }
  // The end of the validity of its certificate; nullopt: unknown.
  std::optional<absl::Time> certificate_expires() const {
    return peer_.not_after;
  }
  uint64_t epoch_id() const { return epoch_id_; }
  // Returns whether the agent announced this epoch, i.e. its process, or an
  // earlier process with the same spool, made the epoch.
  bool HasEpoch(uint64_t epoch) const { return epochs_.contains(epoch); }
  const std::string& address() const { return address_; }
  AgentLink& link() { return *link_; }

  // Acknowledges the epoch's batches up to `sequence`, which are durable. Then
  // asks the agent to reconnect, if it is time.
  void Acknowledge(const Epoch& epoch, uint64_t sequence);
  // Tells the agent that a batch was rejected. Called once the batch's loss is
  // durable.
  void SendReject(const ReceivedBatch& rejected);

  // Tells the agent whether to send each tick at once, if that has changed.
  // Does nothing before Welcome: Pace must follow Welcome.
  void UpdatePace(BatchObserver& observer);

  // Sends the agent its plan, if the plan has changed.
  void UpdatePlan() {
    if (plans_.Update()) machines_.AwaitSamples();
  }

  // Returns whether so many batches are unacknowledged that reading from the
  // stream should stop for now.
  bool HasManyUnacknowledged() const;

  // The machine's clock minus the aggregator's.
  absl::Duration skew(const std::string& machine) const {
    return machines_.skew(machine);
  }
  // Whether the stream brought samples of the machine, since its plan changed
  // if it did.
  bool HasSamples(const std::string& machine) const {
    return machines_.HasSamples(machine);
  }
  // The maximum time that a tick waits at the agent.
  absl::Duration batch_period() const { return batch_period_; }
  uint64_t rejected_batches() const { return batches_.rejected(); }
  // The number of violations by limit name.
  std::map<std::string, uint64_t> limits_broken() const {
    return throttle_.limits_broken();
  }
  // The agent's report on its plan; nullptr if not received yet.
  std::shared_ptr<const v1::PlanReport> plan_report() const {
    return plans_.report();
  }

 private:
  absl::Status HandleMessage(v1::CollectRequest request);
  absl::Status HandleHello(const v1::Hello& hello);
  absl::Status TakeEpochs(const v1::Hello& hello);
  v1::Welcome MakeWelcome(const v1::Hello& hello) const;
  void SendWelcome(const v1::Hello& hello);
  // Returns Aborted if another stream of the agent owns the epoch by now.
  absl::Status CheckOwns(const Epoch& epoch) const;
  absl::Status HandleBatch(v1::Batch batch);
  absl::Status HandleDictionary(v1::Dictionary dictionary);
  absl::Status HandleCatalogue(const v1::Catalogue& catalogue);

  Ingest& ingest_;
  const PeerIdentity peer_;
  const std::string address_;
  const std::shared_ptr<AgentLink> link_;

  // The fields set by Hello, before other threads see the session.
  std::string agent_;    // its canonical name
  v1::Machine machine_;  // the agent's own machine
  uint64_t epoch_id_ = 0;
  std::string catalogue_hash_;
  absl::Duration batch_period_;
  absl::flat_hash_map<uint64_t, std::shared_ptr<Epoch>> epochs_;
  AgentMachines machines_;
  Throttle throttle_;
  DefinitionReceiver definitions_;
  BatchReceiver batches_;
  PlanExchange plans_;
  const absl::Duration reconnect_at_;  // Clock::Monotonic()

  mutable absl::Mutex mutex_;
  bool is_welcomed_ ABSL_GUARDED_BY(mutex_) = false;
  bool live_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_INGEST_SESSION_H_
