// What a RocksDB database that no process has open takes on disk.

#ifndef FLEETPERF_TESTS_BENCH_ROCKSDB_SIZE_H_
#define FLEETPERF_TESTS_BENCH_ROCKSDB_SIZE_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/statusor.h"

namespace fleetperf::bench {

struct RocksDbSize {
  // Bytes by column family: with all that was written and is out of date, and
  // without, when all families have been compacted.
  std::map<std::string, uint64_t> before_compaction;
  std::map<std::string, uint64_t> compacted;
};

// Compacts the database. Its own log and the few files that do not grow with it
// do not count.
absl::StatusOr<RocksDbSize> MeasureRocksDb(const std::string& directory);

}  // namespace fleetperf::bench

#endif  // FLEETPERF_TESTS_BENCH_ROCKSDB_SIZE_H_
