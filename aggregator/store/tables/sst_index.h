// Rebuilds the index of RocksDB's files of keys and values from their data.

#ifndef FLEETPERF_AGGREGATOR_STORE_TABLES_SST_INDEX_H_
#define FLEETPERF_AGGREGATOR_STORE_TABLES_SST_INDEX_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace fleetperf::aggregator {

// Returns DataLoss if RocksDB cannot open the file. Blocks of data are not
// read.
absl::Status CheckSst(const std::string& path);
// Returns DataLoss if a part of the file is not as it was written.
absl::Status VerifySst(const std::string& path);

// Rebuilds the indexes of those files in `directory` that RocksDB cannot open.
// No process may have their database open. A file is written again with the
// index that its blocks of data have. The index is a function of these, byte
// for byte, so RocksDB's checksum of the index, which is in the file, proves
// that it is right. Keeps the damaged files in the directory `kept`, and leaves
// files of which more than the index is damaged. Returns the paths of the
// rebuilt files.
absl::StatusOr<std::vector<std::string>> RebuildSstIndexes(
    const std::string& directory, const std::string& kept);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_TABLES_SST_INDEX_H_
