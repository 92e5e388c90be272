// Takes the batches that an agent's stream brings: checks and decodes them, and
// passes them to ingest.
//
// A batch that is itself at fault does not end the stream: the batch is
// rejected, its loss is recorded, and its definitions are kept because later
// batches use them.

#ifndef FLEETPERF_AGGREGATOR_INGEST_BATCH_RECEIVER_H_
#define FLEETPERF_AGGREGATOR_INGEST_BATCH_RECEIVER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "aggregator/ingest/agent_machines.h"
#include "aggregator/ingest/definition_receiver.h"
#include "aggregator/ingest/epoch.h"
#include "aggregator/ingest/received_batch.h"
#include "aggregator/ingest/throttle.h"
#include "aggregator/samples/batch_contents.h"
#include "base/server/caller_quota.h"
#include "base/tls/credentials.h"

namespace fleetperf::aggregator {

class Ingest;

// Thread-compatible, except where noted.
class BatchReceiver {
 public:
  // All arguments must outlive this object. `peer` is who the agent's
  // certificate names.
  BatchReceiver(Ingest* ingest, const PeerIdentity* peer, Throttle* throttle,
                AgentMachines* machines, DefinitionReceiver* definitions);

  // Sets the agent's clock minus the aggregator's, and the maximum time that a
  // tick waits at the agent. Must be called before Take.
  void SetTiming(absl::Duration skew, absl::Duration batch_period);
  // Sets the epoch that the epoch with this id was forked from.
  void SetOrigin(uint64_t epoch, std::shared_ptr<Epoch> origin);

  // Takes a batch, of which `epoch`, `sequence`, `fingerprint`, `received` and
  // `batch` are set. Returns false if the epoch's batch was received before.
  // `is_own` says that the present process of the agent made the epoch. The
  // caller holds the taking_mutex() of the epoch. On error, the stream must
  // end: then the agent sends the batch again, or keeps sending while
  // throttled.
  absl::StatusOr<bool> Take(bool is_own,
                            std::shared_ptr<ReceivedBatch> received);

  // Returns whether the certificate has memory for one more batch. Thread-safe.
  bool HasRoom() const;
  // The number of rejected batches. Thread-safe.
  uint64_t rejected() const;

 private:
  // Returns a share of no bytes for batches of the certificate.
  CallerQuota::Share MemoryOfHolder() const;
  // Charges what a batch's elements cost besides their bytes.
  void ChargeElements(const BatchCounts& counts);
  absl::Status TakeDefinitions(const BatchContents& contents,
                               ReceivedBatch* received);
  absl::Status TakeSamples(const absl::StatusOr<BatchContents>& contents,
                           ReceivedBatch* received);
  absl::Status Decode(Epoch& epoch, const BatchContents& contents,
                      ReceivedBatch* received);
  // Returns whether the batch is already stored under the epoch that its own
  // epoch was forked from. Returns Unavailable if the store cannot tell.
  absl::StatusOr<bool> IsCopy(const ReceivedBatch& received) const;
  // Asks the agent to pause if it has exceeded its budgets.
  absl::Status ChargeSamples(const ReceivedBatch& received);
  bool IsBehind(const ReceivedBatch& received) const;
  void Reject(const absl::Status& reason, const BatchContents& contents,
              ReceivedBatch* received);

  Ingest& ingest_;
  const PeerIdentity& peer_;
  const std::string holder_;  // the key of `peer_`
  Throttle& throttle_;
  AgentMachines& machines_;
  DefinitionReceiver& definitions_;
  const CallerQuota::Share batch_memory_;  // of nothing, to ask for the others
  absl::Duration skew_;
  absl::Duration batch_period_;
  // By the id of the forked epoch.
  absl::flat_hash_map<uint64_t, std::shared_ptr<Epoch>> origins_;

  mutable absl::Mutex mutex_;
  uint64_t rejected_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_INGEST_BATCH_RECEIVER_H_
