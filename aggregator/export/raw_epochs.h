// The values of epochs in raw series: the agents' own numbers of their epochs,
// which are the same for every store that an agent sends to.

#ifndef FLEETPERF_AGGREGATOR_EXPORT_RAW_EPOCHS_H_
#define FLEETPERF_AGGREGATOR_EXPORT_RAW_EPOCHS_H_

#include <cstdint>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "aggregator/store/store.h"

namespace fleetperf::aggregator {

// Thread-compatible.
class RawEpochs {
 public:
  // The store must outlive the object.
  explicit RawEpochs(const Store* store) : store_(*store) {}

  // Returns RawLow of the agent's epoch that has this number in the store. If
  // the store does not know the epoch, returns a number that no other epoch of
  // any store has.
  double Of(const std::string& machine, uint32_t epoch_number);

 private:
  const Store& store_;
  absl::flat_hash_map<uint32_t, double> known_;  // by number
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_EXPORT_RAW_EPOCHS_H_
