// The machines that an agent's stream speaks for.

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
#include "base/credentials.h"

namespace fleetperf::v1 {
class Definitions;
}  // namespace fleetperf::v1

namespace fleetperf::aggregator {

class Ingest;

// Enter, Check and LeaveOutForeign are called by one thread at a time; the rest
// is thread-safe.
class AgentMachines {
 public:
  // Both outlive this.
  AgentMachines(Ingest* ingest, const PeerIdentity* peer)
      : ingest_(*ingest), peer_(*peer) {}

  // The agent's own machine, whose clock is ahead of ours by `skew`. Once,
  // before anything else.
  void SetAgent(const std::string& agent, absl::Duration skew);

  // PermissionDenied if the certificate does not name a machine.
  absl::Status Check(const v1::Definitions& definitions) const;
  // Removes machines that the certificate does not name, with their queries and
  // instances.
  void LeaveOutForeign(v1::Definitions* definitions) const;

  // Enters machines into the fleet, with this agent as their speaker. Returns
  // whether any is new to the stream. Errors: another agent speaks for one of
  // them, or there are too many; then none of the new ones is entered.
  absl::StatusOr<bool> Enter(const std::set<std::string>& machines);

  // Notes by how much the machines' clocks are ahead of ours.
  void NoteSkew(const ReceivedBatch& received);
  // Of the least delayed of the newest batches; 0 of a machine without one.
  absl::Duration skew(const std::string& machine) const;

  bool AnyOf(absl::FunctionRef<bool(const std::string& machine)> holds) const;

 private:
  absl::Status EnterOne(const std::string& name);

  Ingest& ingest_;
  const PeerIdentity& peer_;
  std::string agent_;
  mutable absl::Mutex mutex_;
  // By machine, of its newest batches.
  std::map<std::string, std::vector<absl::Duration>> skews_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_INGEST_AGENT_MACHINES_H_
