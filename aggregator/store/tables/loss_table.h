// Losses of machines, stored once their batches have left the log.

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

// Stores losses of one machine that batches from `sequence` on reported. All
// losses are stored for this machine, whatever machine they name.
void PutLosses(uint32_t machine, uint32_t epoch_number, uint64_t sequence,
               absl::Time received, const std::vector<Loss>& losses,
               Changes* changes);

// Parses the machine and epoch of a losses key. Returns false if `key` is not
// one.
bool ParseLossesKey(absl::string_view key, uint32_t* machine,
                    uint32_t* epoch_number);

// Calls `use` with each loss of a machine that overlaps the range from `from`
// to `to`, and `on_damage` with each record that cannot be read. `entry`
// iterates over Family::kChunks; the call moves it.
absl::Status ForEachLoss(
    rocksdb::Iterator* entry, uint32_t machine, absl::Time from, absl::Time to,
    absl::FunctionRef<void(const Loss&)> use,
    absl::FunctionRef<void(const absl::Status&)> on_damage);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_TABLES_LOSS_TABLE_H_
