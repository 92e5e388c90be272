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

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_TABLES_COPY_FILE_H_
