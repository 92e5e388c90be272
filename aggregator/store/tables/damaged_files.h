// Files that are kept for operators when the store is opened without a part of
// their contents.

#ifndef FLEETPERF_AGGREGATOR_STORE_TABLES_DAMAGED_FILES_H_
#define FLEETPERF_AGGREGATOR_STORE_TABLES_DAMAGED_FILES_H_

#include <string>

#include "absl/status/status.h"

namespace fleetperf::aggregator {

// The directory of the files kept of the database in `directory`.
std::string DamagedFilesIn(const std::string& directory);

// Keeps the present contents of the file `path`, also if the file is replaced
// or removed later. The kept file has the same name, or, if another one is kept
// under that name, the name with a number. Takes no space as long as the file
// exists, if the file system has hard links.
absl::Status KeepDamagedFile(const std::string& directory,
                             const std::string& path);

// Keeps the MANIFEST, of which records are missing, and the files of keys and
// values that it does not list. RocksDB deletes these when it opens the
// database.
absl::Status KeepUnlistedFiles(const std::string& directory);

// Removes the links to files that the database has again, which would keep
// their space after the database has removed them.
void RemoveKeptFilesInUse(const std::string& directory);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_TABLES_DAMAGED_FILES_H_
