#include "aggregator/export/raw_epochs.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "aggregator/export/raw_names.h"
#include "aggregator/store/machine_epochs.h"
#include "base/sha256.h"

namespace fleetperf::aggregator {
namespace {

constexpr size_t kMaxEpochs = 100'000;

}  // namespace

double RawEpochs::Of(const std::string& machine, uint32_t epoch_number) {
  const auto known = known_.find(epoch_number);
  if (known != known_.end()) return known->second;
  if (known_.size() > kMaxEpochs) known_.clear();
  for (const auto& [number, epoch] : EpochsOfMachine(store_, machine)) {
    known_.try_emplace(number, RawLow(epoch));
  }
  // Another agent may have collected the machine before.
  return known_
      .try_emplace(
          epoch_number,
          RawLow(Fingerprint(absl::StrCat(store_.id(), " ", epoch_number))))
      .first->second;
}

}  // namespace fleetperf::aggregator
