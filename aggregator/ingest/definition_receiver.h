// Takes the definitions that an agent's stream brings, in batches and in
// dictionaries.

#ifndef FLEETPERF_AGGREGATOR_INGEST_DEFINITION_RECEIVER_H_
#define FLEETPERF_AGGREGATOR_INGEST_DEFINITION_RECEIVER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "aggregator/ingest/agent_machines.h"
#include "aggregator/ingest/epoch.h"
#include "aggregator/ingest/throttle.h"
#include "fleetperf/v1/collection.pb.h"

namespace fleetperf::aggregator {

class Ingest;

// Invalid definitions are logged and removed; batches that use them are
// rejected later. The caller holds the taking_mutex() of each epoch.
// Thread-compatible.
class DefinitionReceiver {
 public:
  // All pointers must outlive this object. `on_new_machine` is called after a
  // machine that is new to the stream was added to the fleet.
  DefinitionReceiver(Ingest* ingest, Throttle* throttle,
                     AgentMachines* machines,
                     std::function<void()> on_new_machine)
      : ingest_(*ingest),
        throttle_(*throttle),
        machines_(*machines),
        on_new_machine_(std::move(on_new_machine)) {}

  // Takes a part of an epoch's dictionary. `is_own` says that the present
  // process of the agent made the epoch. Definitions of a former process that
  // the agent may no longer send are skipped. Errors: InvalidArgument or
  // ResourceExhausted if there are too many instances, PermissionDenied or
  // AlreadyExists if the agent may not send a definition, or an error of the
  // store.
  absl::Status TakeDictionary(bool is_own, v1::Dictionary dictionary,
                              Epoch& epoch);
  // Returns whether the epoch's complete dictionary arrived on this stream. An
  // id that is undefined there now stays undefined.
  bool HasDictionary(const Epoch& epoch) const {
    return complete_epochs_.contains(epoch.id());
  }

  // Takes the definitions of a batch, and removes content that definitions must
  // not have. Errors: PermissionDenied, AlreadyExists, or an error of the
  // store.
  absl::Status TakeOfBatch(v1::Definitions* definitions, Epoch& epoch);

  // Records the agent as the speaker for these machines and adds new ones to
  // the fleet. Errors: see AgentMachines::Enter.
  absl::Status EnterMachines(const std::set<std::string>& machines);

 private:
  // Removes content that definitions must not have.
  void Bound(v1::Definitions* definitions);
  // Applies definitions to the epoch's dictionary, and removes those that
  // change earlier ones. Those of a Dictionary are stored first, and its
  // instances are left out of memory.
  absl::Status Apply(Epoch& epoch, bool is_dictionary,
                     v1::Definitions* definitions);
  absl::Status EnterDefined(const v1::Definitions& definitions);
  // Logs a fault of a definition. Returns other errors.
  absl::Status NoteFault(absl::string_view action, const absl::Status& fault);

  Ingest& ingest_;
  Throttle& throttle_;
  AgentMachines& machines_;
  const std::function<void()> on_new_machine_;
  absl::flat_hash_set<uint64_t> complete_epochs_;  // see HasDictionary
  size_t dictionary_instances_ = 0;  // of the dictionary being received
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_INGEST_DEFINITION_RECEIVER_H_
