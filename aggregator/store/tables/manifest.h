// Reads and changes RocksDB's MANIFEST without RocksDB, which opens no database
// that lacks one of the listed files.

#ifndef FLEETPERF_AGGREGATOR_STORE_TABLES_MANIFEST_H_
#define FLEETPERF_AGGREGATOR_STORE_TABLES_MANIFEST_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace fleetperf::aggregator {

// A file of keys and values that the database uses.
struct ListedFile {
  uint32_t family = 0;  // numbered in the order of Family
  uint32_t level = 0;
  uint64_t number = 0;
  uint64_t size = 0;  // bytes
};

// The name of a file of keys and values: "000012.sst".
std::string NameOf(const ListedFile& file);

struct Manifest {
  std::string path;
  std::vector<ListedFile> files;
};

// Returns the path of the MANIFEST that the file CURRENT names. DataLoss if
// CURRENT is missing or damaged, or the MANIFEST does not exist.
absl::StatusOr<std::string> FindManifest(const std::string& directory);
// Makes CURRENT name `manifest`, a path in `directory`.
absl::Status WriteCurrent(const std::string& directory,
                          const std::string& manifest);

// Returns DataLoss if any part of the file is damaged.
absl::StatusOr<Manifest> ReadManifest(const std::string& path);
struct ManifestEnd {
  // By the records before the damage.
  std::vector<ListedFile> files;
  // The number of the last change that is in these files or in a log of their
  // time.
  uint64_t last_change = 0;
  // The offset of the first damage. RocksDB takes damage at the end for a write
  // that a power cut interrupted, and opens the database without the rest.
  std::optional<uint64_t> damaged_at;
};
absl::StatusOr<ManifestEnd> ReadManifestEnd(const std::string& path);
// Adds a record to the MANIFEST that removes these files from the database.
absl::Status RemoveFiles(const Manifest& manifest,
                         const std::vector<ListedFile>& files);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_TABLES_MANIFEST_H_
