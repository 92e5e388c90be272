// RocksDB's options of a store. Whoever opens the files of a store uses them:
// its database, and the repair of damaged files.

#ifndef FLEETPERF_AGGREGATOR_STORE_TABLES_ROCKSDB_OPTIONS_H_
#define FLEETPERF_AGGREGATOR_STORE_TABLES_ROCKSDB_OPTIONS_H_

#include <rocksdb/db.h>
#include <rocksdb/options.h>

#include <vector>

namespace fleetperf::aggregator {

// Returns the options for all of a store. RocksDB's log goes to LogDebug.
rocksdb::DBOptions CommonOptions();

// Returns the options of each family, in the order of Family. All families
// share a new cache of blocks.
std::vector<rocksdb::ColumnFamilyDescriptor> FamilyOptions();

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_TABLES_ROCKSDB_OPTIONS_H_
