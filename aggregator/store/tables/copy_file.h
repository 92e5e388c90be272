// Durable copies of files.

#ifndef FLEETPERF_AGGREGATOR_STORE_TABLES_COPY_FILE_H_
#define FLEETPERF_AGGREGATOR_STORE_TABLES_COPY_FILE_H_

#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

namespace fleetperf::aggregator {

// Copies the first `size` bytes of `from` to the new file `to`, and syncs it.
// Calls `on_copied` with the size of each piece, and stops at its first error.
// Returns DataLoss if `from` is too short.
absl::Status CopyFile(
    const std::string& from, const std::string& to, uint64_t size,
    absl::FunctionRef<absl::Status(uint64_t bytes)> on_copied);

// Syncs the names in a directory to disk.
absl::Status SyncDirectory(const std::string& path);

// The directory in which a start keeps the files of the database in
// `directory` that it replaces or loses.
std::string DamagedFilesIn(const std::string& directory);

// Keeps the present contents of the file `path` in the directory `to`, which is
// created if necessary, even if the file is replaced or removed later: as a
// link, or as a copy if the file system has no hard links. The kept file has
// the same name or, if another file has that name there, the name with a
// number.
absl::Status KeepFile(const std::string& path, const std::string& to);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_TABLES_COPY_FILE_H_
