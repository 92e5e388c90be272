// How much of the store each agent uses. If the store is full, agents that use
// more than a fair share lose data first, so that none of them can evict the
// history of others.

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

namespace fleetperf::aggregator {

// In approximate bytes on disk.
struct AgentUse {
  uint64_t chunks = 0;
  uint64_t definitions = 0;  // of epochs in use, which cannot be removed
  std::vector<uint32_t> machines;
};

// By agent. A machine without an agent counts as one.
using UseByAgent = std::map<std::string, AgentUse>;

// Asks RocksDB for one size per machine and a few per epoch in use.
UseByAgent FindUse(const Database& database, const KeyNumbers& numbers,
                   const Directory& directory, const EpochTable& epochs);

// Returns the bytes that an agent may use of a full store before it loses data
// first: a quarter of `max_size`, or 16 times what the median agent uses if
// that is less. Machines of one fleet differ; they do not differ more.
uint64_t FairShare(const UseByAgent& uses, uint64_t max_size);

// Deletes chunks of agents that use more than `share`, first those received
// first, until none of them does or `to_free` bytes are deleted. Logs these
// agents. Returns the approximate number of bytes freed.
absl::StatusOr<uint64_t> DropExcess(const UseByAgent& uses, uint64_t share,
                                    uint64_t to_free, Database* database);

// Returns the bytes of definitions beyond `share` of their agents.
uint64_t ExcessOfDefinitions(const UseByAgent& uses, uint64_t share);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_COMPACTION_SHARES_H_
