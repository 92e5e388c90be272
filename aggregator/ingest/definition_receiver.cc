#include "aggregator/ingest/definition_receiver.h"

#include "absl/strings/str_cat.h"
#include "aggregator/ingest/agent_limits.h"
#include "aggregator/ingest/certificate_budgets.h"
#include "aggregator/ingest/ingest.h"
#include "aggregator/ingest/message_cost.h"
#include "aggregator/ingest/stream_errors.h"
#include "base/status_macros.h"
#include "perflib/registration.h"

namespace fleetperf::aggregator {
namespace {

// A dictionary may have this many times max_instances, because it also defines
// retired instances whose batches the agent still holds.
constexpr size_t kDictionaryFactor = 4;

}  // namespace

absl::Status DefinitionReceiver::TakeDictionary(bool is_own,
                                                v1::Dictionary dictionary,
                                                Epoch& epoch) {
  v1::Definitions& definitions = *dictionary.mutable_definitions();
  const auto bytes = static_cast<double>(definitions.ByteSizeLong());
  throttle_.Charge(Throttle::Cost::kDefinitions, bytes);
  // Handle has charged the bytes.
  throttle_.Charge(Throttle::Cost::kWork,
                   WorkOf(definitions) - kParsedWork * bytes);
  if (definitions.instances_size() > kMaxDictionaryInstances) {
    return absl::InvalidArgumentError(
        absl::StrCat("Dictionary has ", definitions.instances_size(),
                     " instances, more than ", kMaxDictionaryInstances));
  }
  Bound(&definitions);
  if (!is_own) machines_.RemoveForeign(&definitions);
  RETURN_IF_ERROR(machines_.Check(definitions));
  dictionary_instances_ += static_cast<size_t>(definitions.instances_size());
  const size_t max_instances =
      kDictionaryFactor * ingest_.limits().dictionary.max_instances;
  if (dictionary_instances_ > max_instances) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "the dictionary has more than ", max_instances, " instances, ",
        kDictionaryFactor, " times the limit (max_instances)"));
  }
  const absl::Status applied =
      Apply(epoch, /*is_dictionary=*/true, &definitions);
  if (!applied.ok() && (is_own || !IsRefusal(applied))) {
    return applied;
  }
  if (dictionary.more()) return absl::OkStatus();
  dictionary_instances_ = 0;
  ingest_.SetLostDictionary(epoch, false);
  complete_epochs_.insert(epoch.id());
  return absl::OkStatus();
}

absl::Status DefinitionReceiver::TakeOfBatch(v1::Definitions* definitions,
                                             Epoch& epoch) {
  throttle_.Charge(Throttle::Cost::kWork, WorkOf(*definitions));
  throttle_.Charge(Throttle::Cost::kDefinitions,
                   static_cast<double>(definitions->ByteSizeLong()));
  Bound(definitions);
  RETURN_IF_ERROR(machines_.Check(*definitions));
  return Apply(epoch, /*is_dictionary=*/false, definitions);
}

void DefinitionReceiver::Bound(v1::Definitions* definitions) {
  const int wrong_scales = BoundDefinitions(definitions);
  if (wrong_scales == 0) return;
  ingest_.log().Warn(
      "scale",
      absl::StrCat("agent ", machines_.agent(), " defines ", wrong_scales,
                   " counters with a default scale that is not between -",
                   perflib::kMaxScale, " and ", perflib::kMaxScale,
                   "; these counters are not scaled"),
      machines_.agent());
}

absl::Status DefinitionReceiver::EnterMachines(
    const std::set<std::string>& machines) {
  ASSIGN_OR_RETURN(const bool any_new, machines_.Enter(machines));
  if (any_new) on_new_machine_();
  return absl::OkStatus();
}

absl::Status DefinitionReceiver::Apply(Epoch& epoch, bool is_dictionary,
                                       v1::Definitions* definitions) {
  RETURN_IF_ERROR(EnterDefined(*definitions));
  const absl::Status unchanged = epoch.dictionary().RemoveChanged(definitions);
  throttle_.CountBroken(unchanged.message());
  RETURN_IF_ERROR(NoteFault("redefine", unchanged));
  if (is_dictionary) {
    RETURN_IF_ERROR(FromStore(
        ingest_.store().KeepDefinitions(epoch.number(), *definitions)));
    // The dictionary may have many instances of processes that exited long ago.
    // Instances that batches use are read from the store.
    definitions->clear_instances();
  }
  RETURN_IF_ERROR(NoteFault("define", epoch.dictionary().Apply(*definitions)));
  for (const v1::QueryDefinition& query : definitions->queries()) {
    const auto collected = epoch.dictionary().FindQuery(query.id());
    if (!collected.ok()) continue;  // invalid, and already reported
    RETURN_IF_ERROR(ingest_.Claim((*collected)->machine,
                                  (*collected)->schema->registration.guid,
                                  machines_.agent()));
  }
  return absl::OkStatus();
}

absl::Status DefinitionReceiver::EnterDefined(
    const v1::Definitions& definitions) {
  std::set<std::string> machines;
  for (const v1::MachineDefinition& machine : definitions.machines()) {
    machines.insert(machine.name());
  }
  const absl::Status entered = EnterMachines(machines);
  // Only batches with samples of a machine over the limit are rejected.
  if (!absl::IsResourceExhausted(entered)) return entered;
  throttle_.CountBroken(entered.message());
  ingest_.log().Warn(absl::StrCat("enter ", entered.message()),
                     absl::StrCat("skipped a machine of ", machines_.agent(),
                                  ": ", entered.message()),
                     machines_.agent());
  return absl::OkStatus();
}

absl::Status DefinitionReceiver::NoteFault(absl::string_view action,
                                           const absl::Status& fault) {
  if (fault.ok() || !IsBatchFault(fault)) return fault;
  ingest_.log().Warn(action,
                     absl::StrCat("skipped a definition of ", machines_.agent(),
                                  ": ", fault.message()),
                     machines_.agent());
  return absl::OkStatus();
}

}  // namespace fleetperf::aggregator
