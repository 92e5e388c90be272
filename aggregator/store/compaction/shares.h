// How much of the store each holder of a certificate uses. If the store is
// full, holders that use more than a fair share lose data first, so that none
// of them can evict the history of others.

#ifndef FLEETPERF_AGGREGATOR_STORE_COMPACTION_SHARES_H_
#define FLEETPERF_AGGREGATOR_STORE_COMPACTION_SHARES_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "aggregator/samples/directory.h"
#include "aggregator/store/tables/database.h"
#include "aggregator/store/tables/epoch_table.h"
#include "aggregator/store/tables/key_numbers.h"
#include "aggregator/store/tables/received_removal.h"

namespace fleetperf::aggregator {

// In approximate bytes on disk.
struct Use {
  uint64_t chunks = 0;
  uint64_t definitions = 0;  // of epochs in use, which cannot be removed
  std::vector<uint32_t> machines;
  std::string example;  // the name of one of its machines or agents
};

// By Directory::HolderOf.
using UseByHolder = std::map<std::string, Use>;

// Asks RocksDB for one size per machine and a few per epoch in use.
UseByHolder FindUse(const Database& database, const KeyNumbers& numbers,
                    const Directory& directory, const EpochTable& epochs);

// Returns the bytes that a holder may use of a full store before it loses data
// first: a quarter of `max_size`, or 16 times what the median holder uses if
// that is less. Machines of one fleet differ; they do not differ more.
uint64_t FairShare(const UseByHolder& uses, uint64_t max_size);

// Deletes chunks of holders that use more than `share`, first those received
// first, until none of them does or `to_free` bytes are deleted. Logs these
// holders.
absl::StatusOr<Removal> DropExcess(const UseByHolder& uses, uint64_t share,
                                   uint64_t to_free, Database* database);

// Returns the bytes of definitions beyond `share` of their holders.
uint64_t ExcessOfDefinitions(const UseByHolder& uses, uint64_t share);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_COMPACTION_SHARES_H_
