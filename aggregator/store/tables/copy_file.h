// Files that are copied so that they survive a power cut.

#ifndef FLEETPERF_AGGREGATOR_STORE_TABLES_COPY_FILE_H_
#define FLEETPERF_AGGREGATOR_STORE_TABLES_COPY_FILE_H_

#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

namespace fleetperf::aggregator {

// Copies the first `size` bytes into a new file. `on_copied` is called with the
// size of each piece; its error ends it. DataLoss if there are fewer.
absl::Status CopyFile(
    const std::string& from, const std::string& to, uint64_t size,
    absl::FunctionRef<absl::Status(uint64_t bytes)> on_copied);

// Makes the names in a directory durable.
absl::Status SyncDirectory(const std::string& path);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_TABLES_COPY_FILE_H_
