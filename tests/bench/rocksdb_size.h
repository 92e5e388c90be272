// Measures the disk space of a RocksDB database that no process has open.

#ifndef FLEETPERF_TESTS_BENCH_ROCKSDB_SIZE_H_
#define FLEETPERF_TESTS_BENCH_ROCKSDB_SIZE_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/statusor.h"

namespace fleetperf::bench {

struct RocksDbSize {
  // Bytes by column family: including obsolete data, and after compacting all
  // families.
  std::map<std::string, uint64_t> before_compaction;
  std::map<std::string, uint64_t> compacted;
};

// Compacts the database and returns its sizes. The write-ahead log and the few
// files of constant size are not counted.
absl::StatusOr<RocksDbSize> MeasureRocksDb(const std::string& directory);

}  // namespace fleetperf::bench

#endif  // FLEETPERF_TESTS_BENCH_ROCKSDB_SIZE_H_
