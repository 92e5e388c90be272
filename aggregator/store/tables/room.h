// Checks free disk space.
//
// On a full disk, a store could neither compact nor remove its data, and
// RocksDB's write-ahead log cannot be written again after a write to it failed.
// So some space is reserved from batches, and a smaller amount from all writes.

#ifndef FLEETPERF_AGGREGATOR_STORE_TABLES_ROOM_H_
#define FLEETPERF_AGGREGATOR_STORE_TABLES_ROOM_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"

namespace fleetperf::aggregator {

enum class DiskUse {
  kBatches,      // leaves 1% of the file system, and at least 64 MiB
  kMaintenance,  // leaves 16 MiB
};

// Returns ResourceExhausted, with the free and the reserved space, if writing
// `bytes` more bytes in `directory` would use reserved space.
absl::Status CheckRoom(const std::string& directory, uint64_t bytes,
                       DiskUse use);

// Returns the free space of the directory's file system; std::nullopt if it is
// unknown.
std::optional<uint64_t> FreeBytes(const std::string& directory);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_TABLES_ROOM_H_
