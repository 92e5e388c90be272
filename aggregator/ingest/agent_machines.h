// The machines for which an agent's stream delivers samples.

#ifndef FLEETPERF_AGGREGATOR_INGEST_AGENT_MACHINES_H_
#define FLEETPERF_AGGREGATOR_INGEST_AGENT_MACHINES_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "aggregator/ingest/received_batch.h"
#include "base/tls/credentials.h"

namespace fleetperf::v1 {
class Definitions;
}  // namespace fleetperf::v1

namespace fleetperf::aggregator {

class Ingest;

// Thread-safe, except for Enter, Check and RemoveForeign, which must be called
// by one thread at a time.
class AgentMachines {
 public:
  // Both arguments must outlive this object.
  AgentMachines(Ingest* ingest, const PeerIdentity* peer)
      : ingest_(*ingest), peer_(*peer) {}

  // Sets the agent's own machine. `skew` is its clock minus the aggregator's.
  // Must be called once, before any other method.
  void SetAgent(const std::string& agent, absl::Duration skew);
  // The agent's canonical name.
  const std::string& agent() const { return agent_; }

  // Returns PermissionDenied if the certificate does not name a machine that
  // `definitions` defines.
  absl::Status Check(const v1::Definitions& definitions) const;
  // Removes machines that the certificate does not name, with their queries and
  // instances.
  void RemoveForeign(v1::Definitions* definitions) const;

  // Adds `machines` to the fleet, with this agent as their speaker. Returns
  // whether any of them is new to the stream. On error, adds none of the new
  // machines to the stream. Errors: ResourceExhausted if there are too many
  // machines, or an error of the store.
  absl::StatusOr<bool> Enter(const std::set<std::string>& machines);

  // Records the machines with samples, and the difference between their clocks
  // and the aggregator's.
  void NoteSamples(const ReceivedBatch& received);
  // Forgets which machines have sent samples: a plan changes what they send.
  void AwaitSamples();
  // Returns whether the stream brought samples of the machine, since
  // AwaitSamples if that was called.
  bool HasSamples(const std::string& machine) const;
  // Returns the machine's clock minus the aggregator's, from the least delayed
  // of the newest batches. Returns 0 for a machine without batches.
  absl::Duration skew(const std::string& machine) const;

  // Returns whether `holds` is true for any of the machines.
  bool AnyOf(absl::FunctionRef<bool(const std::string& machine)> holds) const;

 private:
  absl::Status EnterOne(const std::string& name);

  Ingest& ingest_;
  const PeerIdentity& peer_;
  std::string agent_;
  mutable absl::Mutex mutex_;
  // The skews of the newest batches, by machine.
  std::map<std::string, std::vector<absl::Duration>> skews_
      ABSL_GUARDED_BY(mutex_);
  std::set<std::string> with_samples_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_INGEST_AGENT_MACHINES_H_
