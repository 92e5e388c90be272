#include "aggregator/export/raw_epochs.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "aggregator/export/raw_names.h"
#include "aggregator/samples/machine_name.h"
#include "base/sha256.h"

namespace fleetperf::aggregator {
namespace {

constexpr size_t kMaxEpochs = 100'000;

}  // namespace

double RawEpochs::Of(const std::string& machine, uint32_t epoch_number) {
  const auto known = known_.find(epoch_number);
  if (known != known_.end()) return known->second;
  if (known_.size() > kMaxEpochs) known_.clear();
  const std::string agent = store_.directory().AgentOf(machine);
  Learn(agent.empty() ? machine : agent);
  Learn(OwnAgentName(machine));
  // Another agent may have collected the machine before.
  return known_
      .try_emplace(
          epoch_number,
          RawLow(Fingerprint(absl::StrCat(store_.id(), " ", epoch_number))))
      .first->second;
}

void RawEpochs::Learn(const std::string& agent) {
  for (const auto& [number, epoch] : store_.EpochsOf(agent)) {
    known_.try_emplace(number, RawLow(epoch));
  }
}

}  // namespace fleetperf::aggregator
