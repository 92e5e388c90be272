// Rebuilds the index of RocksDB's files of keys and values from their data.

#ifndef FLEETPERF_AGGREGATOR_STORE_TABLES_SST_INDEX_H_
#define FLEETPERF_AGGREGATOR_STORE_TABLES_SST_INDEX_H_

#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace fleetperf::aggregator {

// Returns DataLoss if RocksDB cannot open the file. Blocks of data are not
// read.
absl::Status CheckSst(const std::string& path);
// Returns DataLoss if a part of the file is not as it was written.
absl::Status VerifySst(const std::string& path);

// Writes the file again, with the index that its blocks of data have. The index
// is a function of these, byte for byte, so RocksDB's checksum of the index,
// which is in the file, proves that it is right. Calls `keep` with the path
// before the file is replaced, and returns its error. Returns DataLoss, and
// leaves the file, if RocksDB could not open the new one either: more than the
// index is damaged.
absl::Status RebuildSstIndex(
    const std::string& path,
    absl::FunctionRef<absl::Status(const std::string& path)> keep);

// Rebuilds the indexes of those files that RocksDB cannot open. No process may
// have their database open. Keeps the damaged files in the directory `kept`.
// Returns the paths of the rebuilt files.
absl::StatusOr<std::vector<std::string>> RebuildSstIndexes(
    const std::vector<std::string>& paths, const std::string& kept);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_TABLES_SST_INDEX_H_
