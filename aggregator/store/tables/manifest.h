// Reads the MANIFEST of a database: RocksDB's list of the files that hold keys
// and values. Works without the listed files, for databases that cannot be
// opened.

#ifndef FLEETPERF_AGGREGATOR_STORE_TABLES_MANIFEST_H_
#define FLEETPERF_AGGREGATOR_STORE_TABLES_MANIFEST_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace fleetperf::aggregator {

// A file of keys and values that a database uses.
struct ListedFile {
  std::string name;  // "000012.sst"
  std::string family;
  uint64_t size = 0;  // bytes
};
struct Listing {
  std::vector<ListedFile> files;
  // The number of the last change that is in these files, or was in a log when
  // the last of them was added.
  uint64_t last_change = 0;
};
// Returns what the MANIFEST of the database in `directory` lists, even if files
// are missing or damaged. DataLoss if the MANIFEST cannot be read. RocksDB
// takes damage at its end for a write that a power cut interrupted, and reads
// what is before it; see FindManifestDamage.
absl::StatusOr<Listing> ListFiles(const std::string& directory);

// Returns the path of the MANIFEST that the file CURRENT names. DataLoss if
// CURRENT is missing or damaged, or the MANIFEST does not exist.
absl::StatusOr<std::string> FindManifest(const std::string& directory);

// Returns the offset of the first damage in a MANIFEST; std::nullopt if it is
// whole.
absl::StatusOr<std::optional<uint64_t>> FindManifestDamage(
    const std::string& path);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_TABLES_MANIFEST_H_
