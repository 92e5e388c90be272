// What was lost, once the batches that told of it are out of the log.

#ifndef FLEETPERF_AGGREGATOR_STORE_TABLES_LOSS_TABLE_H_
#define FLEETPERF_AGGREGATOR_STORE_TABLES_LOSS_TABLE_H_

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "aggregator/samples/frame.h"
#include "aggregator/store/tables/database.h"

namespace fleetperf::aggregator {

// Losses of one machine, of which some batches from `sequence` on told. They
// are no more than this machine's, whatever they say.
void PutLosses(uint32_t machine, uint32_t epoch_number, uint64_t sequence,
               absl::Time received, const std::vector<Loss>& losses,
               Changes* changes);

// Of which machine and epoch the losses with this key are; false if it is none
// of losses.
bool ParseLossesKey(absl::string_view key, uint32_t* machine,
                    uint32_t* epoch_number);

// Calls `use` with the losses of a machine that lie between `from` and `to`, or
// reach into that; `on_damage` is told what cannot be read. `entry` is of the
// chunks, and is moved.
absl::Status ForEachLoss(
    rocksdb::Iterator* entry, uint32_t machine, absl::Time from, absl::Time to,
    absl::FunctionRef<void(const Loss&)> use,
    absl::FunctionRef<void(const absl::Status&)> on_damage);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_TABLES_LOSS_TABLE_H_
