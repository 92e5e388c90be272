// Reads the MANIFEST of a database: RocksDB's list of the files that hold keys
// and values. Works without the listed files, for databases that cannot be
// opened.

#ifndef FLEETPERF_AGGREGATOR_STORE_TABLES_MANIFEST_H_
#define FLEETPERF_AGGREGATOR_STORE_TABLES_MANIFEST_H_

#include <rocksdb/metadata.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace fleetperf::aggregator {

struct Listing {
  std::string manifest;  // its path
  // The files of keys and values that the database uses.
  std::vector<rocksdb::LiveFileMetaData> files;
  // The number of the last change that is in these files, or was in a log when
  // the last of them was added.
  uint64_t last_change = 0;
  // The offset of the first damage. RocksDB takes damage at the end for a write
  // that a power cut interrupted, and lists what is before it.
  std::optional<uint64_t> damage;
};
// Returns what the MANIFEST of the database in `directory` lists, even if files
// are missing or damaged. DataLoss if the MANIFEST cannot be read.
absl::StatusOr<Listing> ListFiles(const std::string& directory);

// Returns the path of the MANIFEST that the file CURRENT names. DataLoss if
// CURRENT is missing or damaged, or the MANIFEST does not exist.
absl::StatusOr<std::string> FindManifest(const std::string& directory);

// Returns whether `directory` has files of keys and values, or of a write-ahead
// log. An interrupted first start leaves neither.
bool HasData(const std::string& directory);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_TABLES_MANIFEST_H_
